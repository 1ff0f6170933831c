/*
 * A text that is taken for a cursor is written as one that stands at the same place.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "server/query/gpu_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(1 << 16, NULL);
	struct gpu_place place;
	struct gpu_place again;
	struct error err = { 0 };

	if (gpu_place_parse(str_make((const char *)data, size), &place, &err) == 0 &&
	    (place.time_ns < 0 ||
	     gpu_place_parse(gpu_place_format(&place, arena), &again, &err) < 0 ||
	     gpu_place_compare(&place, &again) != 0))
		abort();
	arena_free(arena);
	return 0;
}
