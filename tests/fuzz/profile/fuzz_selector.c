/*
 * A selector's text: parse it, match a series, take the name out.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "profile/selector.h"

#define ARENA_BYTES ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct label labels[] = { { STR("a"), STR("b") },
		                  { STR("region"), STR("us-east-1") },
		                  { STR("uni"), STR("\xc3\xa4\xff") } };
	const struct label_set set = { labels, ARRAY_LENGTH(labels) };
	struct selector selector;
	struct matcher taken;
	struct error err;

	selector_init(&selector, arena);
	if (selector_parse(&selector, str_make(data, size), &err) < 0) {
		if (err.code != ERROR_INVALID && err.code != ERROR_TOO_LARGE)
			abort();
		if (selector.count != 0)
			abort();
	} else {
		const size_t count = selector.count;

		(void)selector_matches(&selector, &set);
		if (selector_take(&selector, STR("__name__"), &taken) &&
		    (selector.count != count - 1 || !str_equals(taken.name, "__name__")))
			abort();
	}
	selector_fini(&selector);
	return 0;
}
