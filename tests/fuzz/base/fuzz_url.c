/*
 * Parses a query string, encodes its pairs, and parses that: the pairs stay the same.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)16 << 20, NULL);
	struct url_query query;
	struct url_query again;
	struct error err = { 0 };
	struct strbuf text;

	if (url_query_parse(str_make(data, size), arena, &query, &err) < 0) {
		assert(err.code == ERROR_TOO_LARGE);
		return 0;
	}
	strbuf_init(&text, 3 * size + 16);
	for (size_t i = 0; i < query.count; i++) {
		if (i > 0)
			strbuf_add_byte(&text, '&');
		url_encode(query.pairs[i].name, &text);
		strbuf_add_byte(&text, '=');
		url_encode(query.pairs[i].value, &text);
	}
	assert(!strbuf_overflowed(&text));
	assert(url_query_parse(strbuf_view(&text), arena, &again, &err) == 0);
	assert(again.count == query.count);
	for (size_t i = 0; i < query.count; i++) {
		assert(str_equal(again.pairs[i].name, query.pairs[i].name));
		assert(str_equal(again.pairs[i].value, query.pairs[i].value));
	}
	strbuf_fini(&text);
	return 0;
}
