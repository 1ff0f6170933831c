/*
 * speedscope files of any bytes: what comes out refers only to what is there, and no value
 * is negative.
 */
#include "formats/speedscope.h"
#include "tests/fuzz/formats/name_formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const apps[] = { "app", "app.alloc_space", "app.wall" };

	for (size_t i = 0; i < ARRAY_LENGTH(apps); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(NAME_FORMATS_ARENA, NULL);
		struct format_output out;

		if (name_formats_decode(speedscope_decode, str_of(apps[i]), str_make(data, size),
		                        arena, &out) < 0)
			continue;
		for (size_t profile = 0; profile < out.count; profile++)
			assert(out.profiles[profile].sender_id.length > 0);
	}
	return 0;
}
