/*
 * Sample bodies: the envelope, and every column of what is in it. The first byte chooses:
 * with the envelope or without.
 */
#include <stdint.h>

#include "storage/page.h"
#include "storage/sample_page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new((size_t)16 << 20, NULL);
	struct str raw = str_make(data + 1, size - 1);
	struct sample_page page;
	struct error err;
	uint64_t *spans;
	uint8_t(*traces)[TRACE_ID_SIZE];
	int64_t *values;

	if (size > 0 && ((data[0] & 1) == 0 || page_open(raw, arena, &raw, &err) == 0) &&
	    sample_page_decode(raw, arena, &page, &err) == 0) {
		(void)sample_page_spans(&page, arena, &spans, &err);
		(void)sample_page_traces(&page, arena, &traces, &err);
		for (uint32_t i = 0; i < page.series_count; i++)
			(void)sample_page_values(&page, i, arena, &values, &err);
	}
	arena_free(arena);
	return 0;
}
