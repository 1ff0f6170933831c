/*
 * What the fuzz targets of formats of bare names have in common: their input, and what
 * must hold of any profile that comes out.
 */
#pragma once

#include <assert.h>

#include "formats/format.h"

#define NAME_FORMATS_ARENA ((size_t)16 << 20)

static inline void name_formats_check(const struct profile *profile)
{
	for (size_t i = 0; i < profile->sample_count; i++)
		assert((size_t)profile->samples[i].first_frame + profile->samples[i].depth <=
		       profile->stack_length);
	for (size_t i = 0; i < profile->stack_length; i++)
		assert(profile->stacks[i] < profile->location_count);
	for (size_t i = 0; i < profile->location_count; i++) {
		assert(profile->locations[i].mapping < profile->mapping_count);
		assert(profile->locations[i].first_line < profile->line_count);
	}
	for (size_t i = 0; i < profile->function_count; i++)
		assert(profile->functions[i].name < profile->string_count);
}

/* Decodes and checks; -1 when the body is refused. */
static inline int name_formats_decode(format_decoder decode, struct str app, struct str body,
                                      struct arena *arena, struct format_output *out)
{
	const struct ingest_limits limits = { .max_samples = 1000, .max_depth = 100 };
	const struct ingest_params params = { .name = { .app = app },
		                              .spy_name = STR("spy"),
		                              .sample_rate = 100 };
	const struct format_input input = {
		.body = body, .params = &params, .limits = &limits, .arena = arena
	};
	struct error err = { 0 };

	if (decode(&input, out, &err) < 0) {
		assert(err.code == ERROR_INVALID || err.code == ERROR_TOO_LARGE);
		return -1;
	}
	for (size_t i = 0; i < out->count; i++)
		name_formats_check(&out->profiles[i].input->profile);
	return 0;
}

static inline uint64_t name_formats_total(const struct format_output *out)
{
	uint64_t total = 0;

	for (size_t i = 0; i < out->count; i++) {
		const struct profile *profile = &out->profiles[i].input->profile;

		for (size_t sample = 0; sample < profile->sample_count; sample++)
			total += (uint64_t)profile->values[sample];
	}
	return total;
}
