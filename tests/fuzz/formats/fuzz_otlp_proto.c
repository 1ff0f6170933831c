/*
 * An export request of OTLP profiles from any bytes. The first byte says the layout; most
 * values leave it to be found out. What is decoded goes through the pipeline too.
 */
#include <assert.h>

#include "formats/otlp_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_NS INT64_C(1700000000000000000)

static void check(const struct ingest_profile *pair)
{
	const struct profile *profile = &pair->input->profile;

	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		assert(sample->first_frame + sample->depth <= profile->stack_length);
		assert(sample->first_label + sample->label_count <= profile->label_count);
	}
	for (size_t i = 0; i < profile->stack_length; i++)
		assert(profile->stacks[i] < profile->location_count);
	for (size_t i = 0; i < profile->line_count; i++)
		assert(profile->lines[i].function < profile->function_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)64 << 20, NULL);
	struct otlp_options options = { .limits = &ingest_limits_default };
	struct otlp_request request;
	struct error err = { 0 };

	if (size == 0)
		return 0;
	if (data[0] < OTLP_REVISION_COUNT)
		options.layout = otlp_layout_of((enum otlp_revision)data[0]);
	if (otlp_request_decode(str_make(data + 1, size - 1), &options, arena, &request, &err) < 0)
		return 0;
	for (size_t i = 0; i < request.count; i++) {
		struct ingest_result result;

		check(&request.profiles[i]);
		(void)ingest_profile(&request.profiles[i], &ingest_limits_default, NOW_NS, &result,
		                     &err);
	}
	return 0;
}
