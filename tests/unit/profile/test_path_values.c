#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/path_values.h"

#define ARENA_BYTES ((size_t)64 << 20)
#define PATHS       (5 * PATH_VALUES_CHUNK + 77) /* six chunks */

static void values_are_visited_both_ways(void **state)
{
	static const uint32_t paths[] = { 0,        1,    63,   64,
		                          65,       4095, 4096, 3 * PATH_VALUES_CHUNK,
		                          PATHS - 1 };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct path_values values = { .arena = arena };
	uint32_t at = 0;

	(void)state;
	assert_int_equal(path_values_next(&values, 0), PATH_NONE);
	assert_int_equal(path_values_previous(&values, PATH_NONE), PATH_NONE);
	assert_true(path_values_reserve(&values, PATHS));
	assert_int_equal(path_values_next(&values, 0), PATH_NONE);
	assert_int_equal(path_values_previous(&values, PATH_NONE), PATH_NONE);
	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++)
		*path_values_at(&values, paths[i]) = (int64_t)i;
	assert_int_equal(path_values_count(&values), ARRAY_LENGTH(paths));
	for (size_t i = 1; i < ARRAY_LENGTH(paths); i++) {
		at = path_values_next(&values, at);
		assert_int_equal(at, paths[i]);
		assert_int_equal(*path_values_find(&values, at), i);
	}
	assert_int_equal(path_values_next(&values, at), PATH_NONE);
	at = PATH_NONE;
	for (size_t i = ARRAY_LENGTH(paths); i-- > 0;) {
		at = path_values_previous(&values, at);
		assert_int_equal(at, paths[i]);
	}
	assert_int_equal(path_values_previous(&values, at), PATH_NONE);
}

static void they_are_what_a_plain_array_is(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct path_values values = { .arena = arena };
	struct path_values copy = { .arena = arena };
	int64_t *plain = calloc(PATHS, sizeof(*plain));
	uint32_t next = 0;

	(void)state;
	assert_non_null(plain);
	srand(3);
	assert_true(path_values_reserve(&values, 100));
	for (int i = 0; i < 3000; i++) {
		/* none in one of the chunks */
		uint32_t path = 1 + (uint32_t)rand() % (PATHS - 1);

		if (path >> PATH_VALUES_BITS == 2)
			path -= PATH_VALUES_CHUNK;
		assert_true(path_values_reserve(&values, path + 1));
		if (i % 7 == 0 && plain[path] != 0) {
			path_values_drop(&values, path);
			plain[path] = 0;
		} else {
			*path_values_at(&values, path) += 1 + i;
			plain[path] += 1 + i;
		}
	}
	assert_true(path_values_copy(&copy, &values));
	for (uint32_t path = 1; path < PATHS; path++) {
		const int64_t *value = path_values_find(&copy, path);

		assert_int_equal(value ? *value : 0, plain[path]);
		if (plain[path] == 0)
			continue;
		next = path_values_next(&copy, next);
		assert_int_equal(next, path);
	}
	path_values_clear(&values);
	assert_int_equal(path_values_count(&values), 0);
	assert_int_equal(path_values_next(&values, 0), PATH_NONE);
	assert_int_equal(path_values_next(&copy, next), PATH_NONE);
	free(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_visited_both_ways),
		cmocka_unit_test(they_are_what_a_plain_array_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
