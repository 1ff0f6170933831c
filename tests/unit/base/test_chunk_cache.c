#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/chunk_cache.h"

static void chunk_cache_gives_back_what_it_was_given_last(void **state)
{
	CLEANUP(chunk_cache_freep) struct chunk_cache *cache = chunk_cache_new(2);
	void *first = chunk_cache_take(cache);
	void *second = chunk_cache_take(cache);

	(void)state;
	memset(first, 1, CHUNK_CACHE_BYTES);
	memset(second, 2, CHUNK_CACHE_BYTES);
	chunk_cache_give(cache, first);
	chunk_cache_give(cache, second);
	assert_ptr_equal(chunk_cache_take(cache), second);
	assert_ptr_equal(chunk_cache_take(cache), first);
	chunk_cache_give(cache, first);
	chunk_cache_give(cache, second);
}

static void chunk_cache_keeps_no_more_than_it_was_told(void **state)
{
	CLEANUP(chunk_cache_freep) struct chunk_cache *cache = chunk_cache_new(0);

	(void)state;
	/* a leak checker sees a block that neither side freed */
	chunk_cache_give(cache, chunk_cache_take(cache));
}

static void an_arena_with_a_cache_counts_its_budget_as_without(void **state)
{
	CLEANUP(chunk_cache_freep) struct chunk_cache *cache = chunk_cache_new(4);
	struct budget budget;
	struct arena *arena;

	(void)state;
	budget_init(&budget, (size_t)64 << 20);
	arena = arena_new((size_t)64 << 20, &budget);
	arena_use_cache(arena, cache);
	for (int i = 0; i < 100; i++) {
		unsigned char *bytes = arena_alloc(arena, 10000);

		assert_non_null(bytes);
		for (size_t k = 0; k < 10000; k++)
			assert_int_equal(bytes[k], 0);
		memset(bytes, 0xff, 10000);
	}
	assert_true(budget_used(&budget) >= 1000000);
	arena_reset(arena);
	assert_true(budget_used(&budget) < 100000);
	arena_free(arena);
	assert_int_equal(budget_used(&budget), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunk_cache_gives_back_what_it_was_given_last),
		cmocka_unit_test(chunk_cache_keeps_no_more_than_it_was_told),
		cmocka_unit_test(an_arena_with_a_cache_counts_its_budget_as_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
