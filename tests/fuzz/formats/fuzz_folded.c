/*
 * Folded text and lines on any bytes: what comes out refers only to what is there, and
 * adds up.
 */
#include "formats/folded.h"
#include "tests/fuzz/formats/name_formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	CLEANUP(arena_freep) struct arena *arena = arena_new(NAME_FORMATS_ARENA, NULL);
	const struct str app = STR("app.alloc_objects");
	const struct str body = str_make(data, size);
	struct format_output out;

	(void)name_formats_decode(folded_decode_groups, app, body, arena, &out);
	if (name_formats_decode(folded_decode_lines, app, body, arena, &out) == 0 && out.count == 1)
		check_lines(body, &out);
	return 0;
}
