#include "api/profile_json.h"

/* "name":"123", left out when zero. */
static void put_int(struct json_writer *writer, const char *name, int64_t value)
{
	if (value == 0)
		return;
	json_key(writer, name);
	json_put_int_text(writer, value);
}

static void put_uint(struct json_writer *writer, const char *name, uint64_t value)
{
	if (value == 0)
		return;
	json_key(writer, name);
	json_put_uint_text(writer, value);
}

static void put_flag(struct json_writer *writer, const char *name, bool value)
{
	if (!value)
		return;
	json_key(writer, name);
	json_put_bool(writer, true);
}

/* A list's name and bracket; nothing and false when the list is empty. */
static bool begin_list(struct json_writer *writer, const char *name, size_t count)
{
	if (count == 0)
		return false;
	json_key(writer, name);
	json_begin_list(writer);
	return true;
}

static void write_value_type(const struct profile_value_type *type, struct json_writer *writer)
{
	json_begin_map(writer);
	put_int(writer, "type", type->type);
	put_int(writer, "unit", type->unit);
	json_end_map(writer);
}

static void write_sample_types(const struct profile *profile, struct json_writer *writer)
{
	if (!begin_list(writer, "sampleType", profile->sample_type_count))
		return;
	for (size_t i = 0; i < profile->sample_type_count; i++)
		write_value_type(&profile->sample_types[i], writer);
	json_end_list(writer);
}

static void write_sample_labels(const struct profile *profile, const struct profile_sample *sample,
                                struct json_writer *writer)
{
	if (!begin_list(writer, "label", sample->label_count))
		return;
	for (uint32_t i = 0; i < sample->label_count; i++) {
		const struct profile_label *label = &profile->labels[sample->first_label + i];

		json_begin_map(writer);
		put_int(writer, "key", label->key);
		put_int(writer, "str", label->value);
		json_end_map(writer);
	}
	json_end_list(writer);
}

static void write_sample(const struct profile *profile, size_t index, struct json_writer *writer)
{
	const struct profile_sample *sample = &profile->samples[index];
	const size_t types = profile->sample_type_count;

	json_begin_map(writer);
	if (begin_list(writer, "locationId", sample->depth)) {
		for (uint32_t i = 0; i < sample->depth; i++)
			json_put_uint_text(writer,
			                   (uint64_t)profile->stacks[sample->first_frame + i] + 1);
		json_end_list(writer);
	}
	if (begin_list(writer, "value", types)) {
		for (size_t i = 0; i < types; i++)
			json_put_int_text(writer, profile->values[index * types + i]);
		json_end_list(writer);
	}
	write_sample_labels(profile, sample, writer);
	json_end_map(writer);
}

static void write_mapping(const struct profile_mapping *mapping, uint64_t id,
                          struct json_writer *writer)
{
	json_begin_map(writer);
	put_uint(writer, "id", id);
	put_uint(writer, "memoryStart", mapping->start);
	put_uint(writer, "memoryLimit", mapping->limit);
	put_uint(writer, "fileOffset", mapping->offset);
	put_int(writer, "filename", mapping->file);
	put_int(writer, "buildId", mapping->build_id);
	put_flag(writer, "hasFunctions", mapping->flags & PROFILE_HAS_FUNCTIONS);
	put_flag(writer, "hasFilenames", mapping->flags & PROFILE_HAS_FILENAMES);
	put_flag(writer, "hasLineNumbers", mapping->flags & PROFILE_HAS_LINE_NUMBERS);
	put_flag(writer, "hasInlineFrames", mapping->flags & PROFILE_HAS_INLINE_FRAMES);
	json_end_map(writer);
}

static void write_location(const struct profile *profile, size_t index, struct json_writer *writer)
{
	const struct profile_location *location = &profile->locations[index];

	json_begin_map(writer);
	put_uint(writer, "id", index + 1);
	if (location->mapping != PROFILE_NONE)
		put_uint(writer, "mappingId", (uint64_t)location->mapping + 1);
	put_uint(writer, "address", location->address);
	if (begin_list(writer, "line", location->line_count)) {
		for (uint32_t i = 0; i < location->line_count; i++) {
			const struct profile_line *line = &profile->lines[location->first_line + i];

			json_begin_map(writer);
			put_uint(writer, "functionId", (uint64_t)line->function + 1);
			put_int(writer, "line", line->line);
			json_end_map(writer);
		}
		json_end_list(writer);
	}
	json_end_map(writer);
}

static void write_function(const struct profile_function *function, uint64_t id,
                           struct json_writer *writer)
{
	json_begin_map(writer);
	put_uint(writer, "id", id);
	put_int(writer, "name", function->name);
	put_int(writer, "systemName", function->system_name);
	put_int(writer, "filename", function->file);
	put_int(writer, "startLine", function->start_line);
	json_end_map(writer);
}

static void write_tables(const struct profile *profile, struct json_writer *writer)
{
	if (begin_list(writer, "sample", profile->sample_count)) {
		for (size_t i = 0; i < profile->sample_count; i++)
			write_sample(profile, i, writer);
		json_end_list(writer);
	}
	if (begin_list(writer, "mapping", profile->mapping_count)) {
		for (size_t i = 0; i < profile->mapping_count; i++)
			write_mapping(&profile->mappings[i], i + 1, writer);
		json_end_list(writer);
	}
	if (begin_list(writer, "location", profile->location_count)) {
		for (size_t i = 0; i < profile->location_count; i++)
			write_location(profile, i, writer);
		json_end_list(writer);
	}
	if (begin_list(writer, "function", profile->function_count)) {
		for (size_t i = 0; i < profile->function_count; i++)
			write_function(&profile->functions[i], i + 1, writer);
		json_end_list(writer);
	}
	if (begin_list(writer, "stringTable", profile->string_count)) {
		for (size_t i = 0; i < profile->string_count; i++)
			json_put_text(writer, profile->strings[i]);
		json_end_list(writer);
	}
}

void profile_json_write(const struct profile *profile, struct json_writer *writer)
{
	json_begin_map(writer);
	write_sample_types(profile, writer);
	write_tables(profile, writer);
	put_int(writer, "timeNanos", profile->time_unix_ns);
	put_int(writer, "durationNanos", profile->duration_ns);
	if (profile->has_period_type) {
		json_key(writer, "periodType");
		write_value_type(&profile->period_type, writer);
	}
	put_int(writer, "period", profile->period);
	put_int(writer, "defaultSampleType", profile->default_sample_type);
	json_end_map(writer);
}
