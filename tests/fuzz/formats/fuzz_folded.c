/*
 * Folded text and lines on any bytes: what comes out refers only to what is there, and
 * adds up.
 */
#include <assert.h>

#include "formats/folded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_profile(const struct profile *profile)
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

/* Every line that is not empty counts once. */
static void check_lines(struct str body, const struct format_output *out)
{
	const struct profile *profile = &out->profiles[0].input->profile;
	int64_t lines = 0;
	int64_t total = 0;
	struct str line;

	while (body.length > 0 && str_split(&body, '\n', &line)) {
		if (line.length > 0 && line.data[line.length - 1] == '\r')
			line.length--;
		lines += line.length > 0;
	}
	for (size_t i = 0; i < profile->sample_count; i++)
		total += profile->values[i];
	assert(lines == total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)16 << 20, NULL);
	const struct ingest_limits limits = { .max_samples = 1000 };
	const struct ingest_params params = { .name = { .app = STR("app.alloc_objects") },
		                              .spy_name = STR("spy"),
		                              .sample_rate = 100 };
	const struct format_input input = {
		.body = str_make(data, size), .params = &params, .limits = &limits, .arena = arena
	};
	struct format_output out;
	struct error err = { 0 };

	if (folded_decode_groups(&input, &out, &err) == 0 && out.count == 1)
		check_profile(&out.profiles[0].input->profile);
	if (folded_decode_lines(&input, &out, &err) == 0 && out.count == 1) {
		check_profile(&out.profiles[0].input->profile);
		check_lines(input.body, &out);
	}
	return 0;
}
