/*
 * Decodes records one after the other, as from a perf buffer; what they show lies in the bytes.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collector/watch/perf_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_inside(struct str part, struct str whole)
{
	if (part.length == 0)
		return;
	assert(part.data >= whole.data && part.data + part.length < whole.data + whole.length);
	assert(memchr(part.data, '\0', part.length) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = str_make(data, size);
	struct perf_record record;
	size_t length;

	while ((length = perf_record_decode(rest, &record)) > 0) {
		assert(length <= rest.length);
		assert(record.build_id_length <= PERF_BUILD_ID_MAX);
		assert_inside(record.path, str_first(rest, length));
		assert_inside(record.name, str_first(rest, length));
		rest = str_skip(rest, length);
	}
	return 0;
}
