/*
 * Series and groups as they stand in a window. What is taken in encodes to the same
 * bytes, but for padded numbers.
 */
#include <stdint.h>
#include <stdlib.h>

#include "storage/series_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct series_index *index = series_index_new(1);
	const struct str bytes = str_make(data, size);
	struct strbuf again;
	struct error err;

	strbuf_init(&again, (size_t)16 << 20);
	if (series_index_decode(index, bytes, &err) == 0) {
		series_index_encode(index, 0, &again);
		if (series_index_decode(index, strbuf_view(&again), &err) < 0)
			abort();
	}
	(void)series_index_decode_group(index, bytes, &err);
	strbuf_fini(&again);
	series_index_free(index);
	return 0;
}
