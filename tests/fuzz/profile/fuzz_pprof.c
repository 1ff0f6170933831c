/*
 * A message is read, goes through the pipeline, is written and read again: every index
 * leads somewhere, what is stored keeps its promises, and what is written is good.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/ingest.h"

#define BYTES_MAX ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_index(uint32_t index, size_t count)
{
	assert(index < count || index == PROFILE_NONE);
}

static void check_tables(const struct profile *profile)
{
	for (size_t i = 0; i < profile->stack_length; i++)
		check_index(profile->stacks[i], profile->location_count);
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct profile_location *location = &profile->locations[i];

		check_index(location->mapping, profile->mapping_count);
		assert((size_t)location->first_line + location->line_count <= profile->line_count);
	}
	for (size_t i = 0; i < profile->line_count; i++)
		check_index(profile->lines[i].function, profile->function_count);
	for (size_t i = 0; i < profile->function_count; i++) {
		assert(profile->functions[i].name < profile->string_count);
		assert(profile->functions[i].system_name < profile->string_count);
		assert(profile->functions[i].file < profile->string_count);
	}
	for (size_t i = 0; i < profile->mapping_count; i++) {
		assert(profile->mappings[i].file < profile->string_count);
		assert(profile->mappings[i].build_id < profile->string_count);
	}
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		assert((size_t)sample->first_frame + sample->depth <= profile->stack_length);
		assert((size_t)sample->first_label + sample->label_count <= profile->label_count);
	}
}

static void check_row(const struct series_profile *stored, size_t row)
{
	const struct profile *profile = stored->profile;
	int64_t any = 0;

	for (size_t i = 0; i < stored->series_count; i++) {
		assert(stored->series[i].values[row] >= 0);
		any |= stored->series[i].values[row];
	}
	assert(any > 0);
	for (uint32_t i = 0; i < stored->rows[row].depth; i++) {
		const uint32_t frame = profile->stacks[stored->rows[row].first_frame + i];
		const struct profile_location *location;

		assert(frame < profile->location_count);
		location = &profile->locations[frame];
		for (uint32_t j = 0; j < location->line_count; j++)
			assert(profile->lines[location->first_line + j].function <
			       profile->function_count);
	}
}

static void check_stored(const struct ingest_result *result)
{
	for (size_t i = 0; i < result->count; i++) {
		const struct series_profile *stored = &result->profiles[i];

		assert(stored->series_count > 0 && stored->row_count > 0);
		for (size_t row = 0; row < stored->row_count; row++)
			check_row(stored, row);
		for (size_t j = 0; j < stored->series_count; j++) {
			const struct label_set *labels = &stored->series[j].labels;

			assert(label_set_find(labels, STR("__profile_type__")));
			for (size_t k = 1; k < labels->count; k++)
				assert(str_compare(labels->labels[k - 1].name,
				                   labels->labels[k].name) < 0);
		}
	}
}

static void write_and_read(const struct profile *profile, struct arena *arena)
{
	struct pprof_input again;
	struct strbuf bytes;
	struct error err;

	strbuf_init(&bytes, BYTES_MAX);
	pprof_write(profile, &bytes);
	assert(!strbuf_overflowed(&bytes));
	if (pprof_read(strbuf_view(&bytes), &(struct pprof_options){ 0 }, arena, &again, &err) < 0)
		assert(arena_overflowed(arena));
	else
		assert(again.faults == 0 && again.profile.sample_count == profile->sample_count &&
		       again.profile.stack_length <= profile->stack_length);
	strbuf_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pprof_options options = { .max_samples = 1000,
		                                      .repair_zero_function_ids = true };
	CLEANUP(arena_freep) struct arena *arena = arena_new(BYTES_MAX, NULL);
	struct label labels[] = { { STR("__name__"), STR("fuzz") } };
	struct ingest_limits limits = ingest_limits_default;
	struct pprof_input input;
	struct ingest_profile profile = { .input = &input, .labels = { labels, 1 } };
	struct ingest_result result;
	struct error err = { 0 };

	limits.reject_older_than_ns = limits.reject_newer_than_ns = 0;
	limits.max_depth = 20;
	limits.max_string_length = 40;
	if (pprof_read(str_make(data, size), &options, arena, &input, &err) < 0) {
		assert(err.code == ERROR_INVALID || err.code == ERROR_TOO_LARGE);
		return 0;
	}
	check_tables(&input.profile);
	if (ingest_profile(&profile, &limits, INT64_C(1700000000000000000), &result, &err) < 0) {
		assert(err.code == ERROR_INVALID || err.code == ERROR_TOO_LARGE);
		return 0;
	}
	check_stored(&result);
	write_and_read(&input.profile, arena);
	return 0;
}
