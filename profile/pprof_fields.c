/*
 * The one pass over the bytes of a pprof message.
 *
 * A writer may put the fields in any order, and most put samples first and strings last,
 * so references cannot be followed while they are read. count_fields() steps over the
 * fields of the message first, so that every table gets its size at once; then
 * read_fields() reads each byte once.
 */
#include "profile/pprof_fields.h"

#include "base/cleanup.h"

uint32_t pprof_long_id(struct pprof_fields *fields, uint64_t id)
{
	uint32_t *value;

	if (!fields->long_ids.slots && !number_map_init(&fields->long_ids, fields->arena, 0))
		return PROFILE_NONE;
	value = number_map_at(&fields->long_ids, id);
	if (!value)
		return PROFILE_NONE;
	if (*value == NUMBER_MAP_NONE)
		*value = PPROF_LONG_IDS + (uint32_t)fields->long_ids.count;
	return *value;
}

/* ---- locations, functions, mappings, types ---- */

static bool read_line(struct pprof_fields *fields, struct span in)
{
	struct profile *profile = fields->profile;
	uint64_t function = 0;
	uint64_t line = 0;
	uint64_t field;

	while (in.at < in.end) {
		if (!read_number(&in, &field))
			return false;
		switch (field) {
		case KEY(1, WIRE_VARINT):
			if (!read_number(&in, &function))
				return false;
			break;
		case KEY(2, WIRE_VARINT):
			if (!read_number(&in, &line))
				return false;
			break;
		default:
			if (!skip_field(&in, field, 2))
				return false;
		}
	}
	if (!PPROF_ROOM(fields, profile->lines, profile->line_count, 1, fields->line_capacity))
		return false;
	profile->lines[profile->line_count++] =
		(struct profile_line){ short_id(fields, function), (int64_t)line };
	return true;
}

static bool read_location(struct pprof_fields *fields, struct span in)
{
	struct profile *profile = fields->profile;
	const size_t first_line = profile->line_count;
	struct span bytes;
	uint64_t id = 0;
	uint64_t mapping = 0;
	uint64_t address = 0;
	uint64_t field;
	uint64_t ignored;
	bool good = true;

	while (good && in.at < in.end) {
		if (!read_number(&in, &field))
			return false;
		switch (field) {
		case KEY(1, WIRE_VARINT):
			good = read_number(&in, &id);
			break;
		case KEY(2, WIRE_VARINT):
			good = read_number(&in, &mapping);
			break;
		case KEY(3, WIRE_VARINT):
			good = read_number(&in, &address);
			break;
		case KEY(4, WIRE_BYTES):
			good = read_bytes(&in, &bytes) && read_line(fields, bytes);
			break;
		case KEY(5, WIRE_VARINT):
			good = read_number(&in, &ignored);
			break;
		default:
			good = skip_field(&in, field, 5);
		}
	}
	if (id == 0)
		fields->input->faults |= PPROF_LOCATION_ID_ZERO;
	fields->location_ids[profile->location_count] = short_id(fields, id);
	profile->locations[profile->location_count++] = (struct profile_location){
		.address = address,
		.mapping = short_id(fields, mapping),
		.first_line = (uint32_t)first_line,
		.line_count = (uint32_t)(profile->line_count - first_line),
	};
	return good;
}

static bool read_function(struct pprof_fields *fields, struct span in)
{
	struct profile *profile = fields->profile;
	uint64_t numbers[6] = { 0 }; /* by field */
	uint64_t field;

	while (in.at < in.end) {
		if (!read_number(&in, &field))
			return false;
		switch (field) {
		case KEY(1, WIRE_VARINT):
		case KEY(2, WIRE_VARINT):
		case KEY(3, WIRE_VARINT):
		case KEY(4, WIRE_VARINT):
		case KEY(5, WIRE_VARINT):
			if (!read_number(&in, &numbers[field >> 3]))
				return false;
			break;
		default:
			if (!skip_field(&in, field, 5))
				return false;
		}
	}
	fields->function_ids[profile->function_count] = short_id(fields, numbers[1]);
	profile->functions[profile->function_count++] = (struct profile_function){
		.name = string_index(numbers[2]),
		.system_name = string_index(numbers[3]),
		.file = string_index(numbers[4]),
		.start_line = (int64_t)numbers[5],
	};
	return true;
}

static bool read_mapping(struct pprof_fields *fields, struct span in)
{
	struct profile *profile = fields->profile;
	uint64_t numbers[11] = { 0 }; /* by field */
	uint64_t field;
	uint32_t flags = 0;

	while (in.at < in.end) {
		if (!read_number(&in, &field))
			return false;
		if ((field & 7) == WIRE_VARINT && field >> 3 >= 1 && field >> 3 <= 10) {
			if (!read_number(&in, &numbers[field >> 3]))
				return false;
		} else if (!skip_field(&in, field, 10)) {
			return false;
		}
	}
	for (unsigned i = 0; i < 4; i++)
		flags |= numbers[7 + i] ? 1U << i : 0; /* in the order of profile_mapping_flag */
	fields->mapping_ids[profile->mapping_count] = short_id(fields, numbers[1]);
	profile->mappings[profile->mapping_count++] = (struct profile_mapping){
		.start = numbers[2],
		.limit = numbers[3],
		.offset = numbers[4],
		.file = string_index(numbers[5]),
		.build_id = string_index(numbers[6]),
		.flags = flags,
	};
	return true;
}

/* Later fields win over what *type has; a message that comes twice is merged so. */
static bool read_value_type(struct span in, struct profile_value_type *type)
{
	uint64_t field;
	uint64_t number;

	while (in.at < in.end) {
		if (!read_number(&in, &field))
			return false;
		switch (field) {
		case KEY(1, WIRE_VARINT):
			if (!read_number(&in, &number))
				return false;
			type->type = string_index(number);
			break;
		case KEY(2, WIRE_VARINT):
			if (!read_number(&in, &number))
				return false;
			type->unit = string_index(number);
			break;
		default:
			if (!skip_field(&in, field, 2))
				return false;
		}
	}
	return true;
}

/* ---- the message ---- */

static bool read_scalar(struct pprof_fields *fields, unsigned number, struct span *in)
{
	struct profile *profile = fields->profile;
	uint64_t value;

	if (!read_number(in, &value))
		return false;
	switch (number) {
	case 9:
		profile->time_unix_ns = (int64_t)value;
		break;
	case 10:
		profile->duration_ns = (int64_t)value;
		break;
	case 12:
		profile->period = (int64_t)value;
		break;
	case 14:
		profile->default_sample_type = string_index(value);
		break;
	default:
		break; /* drop and keep frames, comments */
	}
	return true;
}

static bool read_message(struct pprof_fields *fields, unsigned number, struct span in)
{
	struct profile *profile = fields->profile;

	switch (number) {
	case 1:
		return read_value_type(in, &profile->sample_types[profile->sample_type_count++]);
	case 2:
		return pprof_read_sample(fields, in);
	case 3:
		return read_mapping(fields, in);
	case 4:
		return read_location(fields, in);
	case 5:
		return read_function(fields, in);
	case 6:
		profile->strings[profile->string_count++] =
			str_make(in.at, (size_t)(in.end - in.at));
		return true;
	case 11:
		profile->has_period_type = true;
		return read_value_type(in, &profile->period_type);
	default:
		return true; /* 13: comments */
	}
}

static bool read_fields(struct pprof_fields *fields, struct span in)
{
	struct span bytes;
	uint64_t field;

	while (in.at < in.end) {
		if (!read_number(&in, &field))
			return false;
		switch (field) {
		case KEY(1, WIRE_BYTES):
		case KEY(2, WIRE_BYTES):
		case KEY(3, WIRE_BYTES):
		case KEY(4, WIRE_BYTES):
		case KEY(5, WIRE_BYTES):
		case KEY(6, WIRE_BYTES):
		case KEY(11, WIRE_BYTES):
		case KEY(13, WIRE_BYTES):
			if (!read_bytes(&in, &bytes) ||
			    !read_message(fields, (unsigned)(field >> 3), bytes))
				return false;
			break;
		case KEY(7, WIRE_VARINT):
		case KEY(8, WIRE_VARINT):
		case KEY(9, WIRE_VARINT):
		case KEY(10, WIRE_VARINT):
		case KEY(12, WIRE_VARINT):
		case KEY(13, WIRE_VARINT):
		case KEY(14, WIRE_VARINT):
			if (!read_scalar(fields, (unsigned)(field >> 3), &in))
				return false;
			break;
		default:
			if (!skip_field(&in, field, 14))
				return false;
		}
	}
	return true;
}

/* ---- sizes ---- */

static bool count_fields(struct pprof_field_counts *counts, struct span in)
{
	struct span bytes;
	uint64_t field;

	while (in.at < in.end) {
		if (!read_number(&in, &field))
			return false;
		if ((field & 7) != WIRE_BYTES) {
			if (!skip_field(&in, field, 0))
				return false;
			continue;
		}
		if (!read_bytes(&in, &bytes))
			return false;
		if (field >> 3 < ARRAY_LENGTH(counts->fields))
			counts->fields[field >> 3]++;
		if (field >> 3 == 2)
			counts->sample_bytes += (size_t)(bytes.end - bytes.at);
	}
	return true;
}

static bool allocate(struct pprof_fields *fields)
{
	const size_t *counts = fields->counts.fields;
	const size_t kept = fields->options->max_samples;
	const size_t samples = kept > 0 && counts[2] > kept ? kept : counts[2];
	struct profile *profile = fields->profile;
	struct arena *arena = fields->arena;

	profile->sample_types = arena_array(arena, counts[1], sizeof(*profile->sample_types));
	profile->samples = arena_array_raw(arena, samples, sizeof(*profile->samples));
	profile->mappings = arena_array_raw(arena, counts[3], sizeof(*profile->mappings));
	profile->locations = arena_array_raw(arena, counts[4], sizeof(*profile->locations));
	profile->functions = arena_array_raw(arena, counts[5], sizeof(*profile->functions));
	/* one more: a profile without strings gets its "" */
	profile->strings = arena_array_raw(arena, counts[6] + 1, sizeof(*profile->strings));
	fields->mapping_ids = arena_array_raw(arena, counts[3], sizeof(*fields->mapping_ids));
	fields->location_ids = arena_array_raw(arena, counts[4], sizeof(*fields->location_ids));
	fields->function_ids = arena_array_raw(arena, counts[5], sizeof(*fields->function_ids));

	/*
	 * the usual: a line a location, two bytes a frame, a value of some bytes a type
	 */
	fields->line_capacity = counts[4];
	fields->stack_capacity = fields->counts.sample_bytes / 2;
	fields->value_capacity = fields->counts.sample_bytes / 8;
	profile->lines = arena_array_raw(arena, fields->line_capacity, sizeof(*profile->lines));
	profile->stacks = arena_array_raw(arena, fields->stack_capacity, sizeof(*profile->stacks));
	profile->values = arena_array_raw(arena, fields->value_capacity, sizeof(*profile->values));
	return !arena_overflowed(arena);
}

bool pprof_fields_read(struct pprof_fields *fields, struct str bytes)
{
	const uint8_t *at = (const uint8_t *)bytes.data;
	const struct span in = { at, at ? at + bytes.length : at };

	return count_fields(&fields->counts, in) && allocate(fields) && read_fields(fields, in) &&
	       !arena_overflowed(fields->arena);
}
