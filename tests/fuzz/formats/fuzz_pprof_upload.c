/*
 * Uploads of older clients: the first byte chooses the client and whether the rest is a form. What
 * is repaired must still refer to what is there.
 */
#include <assert.h>

#include "formats/pprof_upload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_profile(const struct profile *profile)
{
	for (size_t i = 0; i < profile->sample_type_count; i++)
		assert(profile->sample_types[i].type < profile->string_count);
	for (size_t i = 0; i < profile->function_count; i++)
		assert(profile->functions[i].name < profile->string_count);
	for (size_t i = 0; i < profile->string_count; i++)
		assert(profile->strings[i].length == 0 || profile->strings[i].data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const spies[] = { "unknown", "pyspy", "rbspy", "dotnetspy" };
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)16 << 20, NULL);
	const struct ingest_limits limits = { .max_profile_size_bytes = 1 << 20,
		                              .max_samples = 1000 };
	struct ingest_params params = { .name = { .app = STR("app") }, .from_unix_ns = 1 };
	struct format_input input = { .params = &params, .limits = &limits, .arena = arena };
	struct format_output out;
	struct error err = { 0 };

	if (size == 0)
		return 0;
	params.spy_name = str_of(spies[data[0] % ARRAY_LENGTH(spies)]);
	input.content_type = data[0] & 4 ? STR("multipart/form-data; boundary=X") : STR("");
	input.body = str_make(data + 1, size - 1);
	if (pprof_upload_decode(&input, &out, &err) < 0)
		assert(err.code != ERROR_NONE);
	else if (out.count == 1)
		check_profile(&out.profiles[0].input->profile);
	return 0;
}
