/*
 * Reading pprof: the fields first, then their references, once all tables are whole.
 */
#include "profile/id_index.h"
#include "profile/pprof.h"
#include "profile/pprof_fields.h"

/* *index when it is one of the strings, else 0, and then the fault is noted. */
static inline void check_string(struct pprof_input *input, uint32_t *index, unsigned fault)
{
	if (*index >= input->profile.string_count) {
		*index = 0;
		input->faults |= fault;
	}
}

static void check_value_type(struct pprof_input *input, struct profile_value_type *type,
                             unsigned fault)
{
	check_string(input, &type->type, fault);
	check_string(input, &type->unit, 0); /* the other half of the pair stays */
}

/* Makes every string index one that can be used. */
static void check_strings(struct pprof_fields *fields)
{
	struct pprof_input *input = fields->input;
	struct profile *profile = fields->profile;

	if (profile->string_count == 0) {
		profile->strings[profile->string_count++] = STR("");
		input->faults |= PPROF_STRING_ZERO;
	} else if (profile->strings[0].length > 0) {
		input->faults |= PPROF_STRING_ZERO;
	}
	for (size_t i = 0; i < profile->sample_type_count; i++)
		check_value_type(input, &profile->sample_types[i], PPROF_SAMPLE_TYPE_STRING);
	check_value_type(input, &profile->period_type, 0);
	check_string(input, &profile->default_sample_type, 0);

	if (fields->greatest_label_key >= profile->string_count)
		input->faults |= PPROF_LABEL_STRING;
	for (size_t i = 0; i < profile->label_count; i++) {
		check_string(input, &profile->labels[i].key, PPROF_LABEL_STRING);
		check_string(input, &profile->labels[i].value, PPROF_LABEL_STRING);
	}
	for (size_t i = 0; i < profile->function_count; i++) {
		struct profile_function *function = &profile->functions[i];

		check_string(input, &function->name, PPROF_FUNCTION_NAME_STRING);
		check_string(input, &function->system_name, PPROF_SYSTEM_NAME_STRING);
		check_string(input, &function->file, PPROF_FUNCTION_FILE_STRING);
	}
	for (size_t i = 0; i < profile->mapping_count; i++) {
		check_string(input, &profile->mappings[i].file, PPROF_MAPPING_FILE_STRING);
		check_string(input, &profile->mappings[i].build_id, PPROF_BUILD_ID_STRING);
	}
}

static void check_values(struct pprof_fields *fields)
{
	struct profile *profile = fields->profile;

	if (profile->sample_count == 0 ||
	    (!fields->value_counts_differ && fields->values_of_first == profile->sample_type_count))
		return;
	fields->input->faults |= PPROF_VALUE_COUNT;
	profile->sample_count = 0; /* values[sample * types + type] would not hold */
}

static void check_function_ids(struct pprof_fields *fields)
{
	const size_t count = fields->profile->function_count;
	size_t zeros = 0;

	for (size_t i = 0; i < count; i++)
		zeros += fields->function_ids[i] == 0;
	if (zeros == 0)
		return;
	if (fields->options->repair_zero_function_ids && zeros == count &&
	    count == fields->profile->location_count)
		memcpy(fields->function_ids, fields->location_ids, count * sizeof(uint32_t));
	else
		fields->input->faults |= PPROF_FUNCTION_ID_ZERO;
}

/* The pipeline drops what uses a location of which nothing is known. */
static void empty_location(struct profile_location *location)
{
	location->line_count = 0;
	location->address = 0;
}

static bool resolve_locations(struct pprof_fields *fields)
{
	struct profile *profile = fields->profile;
	struct id_index mappings;
	struct id_index functions;

	if (!id_index_init(&mappings, fields->mapping_ids, profile->mapping_count, fields->arena) ||
	    !id_index_init(&functions, fields->function_ids, profile->function_count,
	                   fields->arena))
		return false;
	for (size_t i = 0; i < profile->location_count; i++) {
		struct profile_location *location = &profile->locations[i];
		const uint32_t id = location->mapping;

		location->mapping = id == 0 ? PROFILE_NONE : id_index_find(&mappings, id);
		if (id != 0 && location->mapping == PROFILE_NONE)
			empty_location(location);
	}
	for (size_t i = 0; i < profile->line_count; i++) {
		uint32_t *function = &profile->lines[i].function;

		*function = *function == 0 ? PROFILE_NONE : id_index_find(&functions, *function);
	}
	return true;
}

static bool resolve_stacks(struct pprof_fields *fields)
{
	struct profile *profile = fields->profile;
	struct id_index locations;

	if (!id_index_init(&locations, fields->location_ids, profile->location_count,
	                   fields->arena))
		return false;
	id_index_resolve(&locations, profile->stacks, profile->stack_length);
	return true;
}

int pprof_read(struct str bytes, const struct pprof_options *options, struct arena *arena,
               struct pprof_input *out, struct error *err)
{
	struct pprof_input input = { .encoded_bytes = bytes.length, .profile.arena = arena };
	struct pprof_fields fields = {
		.arena = arena, .options = options, .input = &input, .profile = &input.profile
	};

	if (bytes.length > PPROF_BYTES_MAX)
		return error_set(err, ERROR_TOO_LARGE, "the profile has %zu bytes; limit %zu",
		                 bytes.length, PPROF_BYTES_MAX);
	if (!pprof_fields_read(&fields, bytes)) {
		if (arena_overflowed(arena))
			return arena_error(arena, err);
		return error_set(err, ERROR_INVALID, "not a pprof profile: malformed protobuf");
	}
	check_strings(&fields);
	check_values(&fields);
	check_function_ids(&fields);
	if (!resolve_locations(&fields) || !resolve_stacks(&fields))
		return arena_error(arena, err);
	*out = input;
	return 0;
}
