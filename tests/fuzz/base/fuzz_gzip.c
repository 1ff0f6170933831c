/*
 * Inflates the bytes within a small limit; what comes out is deflated and inflated again.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gzip.h"

#define LIMIT ((size_t)256 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)4 << 20, NULL);
	struct error err = { 0 };
	struct strbuf packed;
	struct str again;
	struct str out;

	if (gzip_inflate(str_make(data, size), LIMIT, arena, &out, &err) < 0) {
		assert(err.code == ERROR_INVALID || err.code == ERROR_TOO_LARGE);
		return 0;
	}
	assert(out.length <= LIMIT);
	strbuf_init(&packed, 2 * LIMIT);
	gzip_deflate(out, &packed);
	assert(gzip_inflate(strbuf_view(&packed), out.length, arena, &again, &err) == 0);
	assert(str_equal(again, out));
	strbuf_fini(&packed);
	return 0;
}
