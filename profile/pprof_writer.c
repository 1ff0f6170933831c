#include "base/wire.h"
#include "profile/pprof.h"

/* proto3 leaves zeros out. */
static void put_number(struct strbuf *out, uint32_t field, uint64_t value)
{
	if (value != 0)
		wire_put_uint(out, field, value);
}

/* The id of a thing of a table; 0 for what is not in it. */
static uint64_t id_of(uint32_t index, size_t count)
{
	return index < count ? (uint64_t)index + 1 : 0;
}

static void put_value_type(struct strbuf *out, uint32_t field,
                           const struct profile_value_type *type)
{
	const size_t begun = wire_begin(out, field);

	put_number(out, 1, type->type);
	put_number(out, 2, type->unit);
	wire_end(out, begun);
}

static void put_stack(struct strbuf *out, const struct profile *profile,
                      const struct profile_sample *sample)
{
	size_t begun;

	if (sample->depth == 0)
		return;
	begun = wire_begin(out, 1);
	for (uint32_t i = 0; i < sample->depth; i++)
		wire_put_varint(out, id_of(profile->stacks[sample->first_frame + i],
		                           profile->location_count));
	wire_end(out, begun);
}

static void put_sample(struct strbuf *out, const struct profile *profile, size_t index)
{
	const struct profile_sample *sample = &profile->samples[index];
	const int64_t *values = profile->values + index * profile->sample_type_count;
	const size_t begun = wire_begin(out, 2);

	put_stack(out, profile, sample);
	if (profile->sample_type_count > 0) {
		const size_t packed = wire_begin(out, 2);

		for (size_t i = 0; i < profile->sample_type_count; i++)
			wire_put_varint(out, (uint64_t)values[i]);
		wire_end(out, packed);
	}
	for (uint32_t i = 0; i < sample->label_count; i++) {
		const struct profile_label *label = &profile->labels[sample->first_label + i];
		const size_t inner = wire_begin(out, 3);

		put_number(out, 1, label->key);
		put_number(out, 2, label->value);
		wire_end(out, inner);
	}
	wire_end(out, begun);
}

static void put_mapping(struct strbuf *out, const struct profile *profile, size_t index)
{
	const struct profile_mapping *mapping = &profile->mappings[index];
	const size_t begun = wire_begin(out, 3);

	put_number(out, 1, index + 1);
	put_number(out, 2, mapping->start);
	put_number(out, 3, mapping->limit);
	put_number(out, 4, mapping->offset);
	put_number(out, 5, mapping->file);
	put_number(out, 6, mapping->build_id);
	for (uint32_t i = 0; i < 4; i++)
		put_number(out, 7 + i, mapping->flags >> i & 1);
	wire_end(out, begun);
}

static void put_location(struct strbuf *out, const struct profile *profile, size_t index)
{
	const struct profile_location *location = &profile->locations[index];
	const size_t begun = wire_begin(out, 4);

	put_number(out, 1, index + 1);
	put_number(out, 2, id_of(location->mapping, profile->mapping_count));
	put_number(out, 3, location->address);
	for (uint32_t i = 0; i < location->line_count; i++) {
		const struct profile_line *line = &profile->lines[location->first_line + i];
		const size_t inner = wire_begin(out, 4);

		put_number(out, 1, id_of(line->function, profile->function_count));
		put_number(out, 2, (uint64_t)line->line);
		wire_end(out, inner);
	}
	wire_end(out, begun);
}

static void put_function(struct strbuf *out, const struct profile *profile, size_t index)
{
	const struct profile_function *function = &profile->functions[index];
	const size_t begun = wire_begin(out, 5);

	put_number(out, 1, index + 1);
	put_number(out, 2, function->name);
	put_number(out, 3, function->system_name);
	put_number(out, 4, function->file);
	put_number(out, 5, (uint64_t)function->start_line);
	wire_end(out, begun);
}

void pprof_write(const struct profile *profile, struct strbuf *out)
{
	for (size_t i = 0; i < profile->sample_type_count; i++)
		put_value_type(out, 1, &profile->sample_types[i]);
	for (size_t i = 0; i < profile->sample_count; i++)
		put_sample(out, profile, i);
	for (size_t i = 0; i < profile->mapping_count; i++)
		put_mapping(out, profile, i);
	for (size_t i = 0; i < profile->location_count; i++)
		put_location(out, profile, i);
	for (size_t i = 0; i < profile->function_count; i++)
		put_function(out, profile, i);
	for (size_t i = 0; i < profile->string_count; i++)
		wire_put_bytes(out, 6, profile->strings[i]);
	put_number(out, 9, (uint64_t)profile->time_unix_ns);
	put_number(out, 10, (uint64_t)profile->duration_ns);
	if (profile->has_period_type)
		put_value_type(out, 11, &profile->period_type);
	put_number(out, 12, (uint64_t)profile->period);
	put_number(out, 14, profile->default_sample_type);
}
