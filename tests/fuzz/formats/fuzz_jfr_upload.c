/*
 * JFR: the first byte says whether the rest is a recording or a form with labels, and the
 * limits. What comes out must refer to what is there, and go through the pipeline.
 */
#include <assert.h>

#include "formats/jfr_upload.h"

#define ARENA_BYTES ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_profile(const struct profile *profile)
{
	for (size_t i = 0; i < profile->function_count; i++)
		assert(profile->functions[i].name < profile->string_count);
	for (size_t i = 0; i < profile->line_count; i++)
		assert(profile->lines[i].function < profile->function_count);
	for (size_t i = 0; i < profile->stack_length; i++)
		assert(profile->stacks[i] < profile->location_count);
	for (size_t i = 0; i < profile->label_count; i++)
		assert(profile->labels[i].key < profile->string_count &&
		       profile->labels[i].value < profile->string_count);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample sample = profile->samples[i];

		assert((size_t)sample.first_frame + sample.depth <= profile->stack_length);
		assert((size_t)sample.first_label + sample.label_count <= profile->label_count);
	}
}

static void store(struct format_output *out, const struct ingest_limits *limits)
{
	for (size_t i = 0; i < out->count; i++) {
		struct ingest_result result;
		struct error err = { 0 };

		check_profile(&out->profiles[i].input->profile);
		if (ingest_profile(&out->profiles[i], limits, 1, &result, &err) < 0)
			assert(err.code != ERROR_NONE);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct ingest_limits limits = ingest_limits_default;
	struct ingest_params params = {
		.name = { .app = STR("app") },
		.from_unix_ns = 1,
		.spy_name = STR("javaspy"),
		.sample_rate = 100,
	};
	struct format_input input = { .params = &params, .limits = &limits, .arena = arena };
	struct format_output out;
	struct error err = { 0 };

	if (size == 0)
		return 0;
	limits.max_recording_bytes = 1 << 20;
	limits.max_samples = data[0] & 2 ? 3 : 0;
	input.content_type = data[0] & 1 ? STR("multipart/form-data; boundary=X") : STR("");
	input.body = str_make(data + 1, size - 1);
	if (jfr_upload_decode(&input, &out, &err) < 0)
		assert(err.code != ERROR_NONE);
	else
		store(&out, &limits);
	return 0;
}
