#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "profile/id_index.h"

static void numbers_keep_the_values_that_they_got(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)16 << 20, NULL);
	struct number_map map;

	(void)state;
	assert_true(number_map_init(&map, arena, 0));
	assert_int_equal(number_map_find(&map, 7), NUMBER_MAP_NONE);
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t *value = number_map_at(&map, (uint64_t)i << 40);

		assert_non_null(value);
		assert_int_equal(*value, NUMBER_MAP_NONE);
		*value = i;
	}
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(number_map_find(&map, (uint64_t)i << 40), i);
		assert_int_equal(*number_map_at(&map, (uint64_t)i << 40), i);
	}
	assert_int_equal(number_map_find(&map, 1), NUMBER_MAP_NONE);
	assert_int_equal(map.count, 10000);
}

static void a_full_arena_is_told(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(4096, NULL);
	struct number_map map;
	uint32_t *value;
	uint64_t number = 0;

	(void)state;
	assert_true(number_map_init(&map, arena, 0));
	while ((value = number_map_at(&map, number++)) && number < 100000)
		*value = 1;
	assert_null(value);
	assert_false(number_map_init(&map, arena, 100000));
}

static void ids_are_found_where_they_stand_whether_dense_or_not(void **state)
{
	static const uint32_t dense[] = { 1, 2, 3, 4 };
	static const uint32_t mixed[] = { 4, 1, 3, 1 }; /* the last 1 counts */
	static const uint32_t sparse[] = { 4000000000, 1, 70000, 1 };
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)1 << 20, NULL);
	struct id_index index;
	uint32_t ids[] = { 1, 4000000000, 2, 0, 70000, UINT32_MAX };

	(void)state;
	assert_true(id_index_init(&index, dense, 4, arena));
	assert_non_null(index.table);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(id_index_find(&index, i + 1), i);
	assert_int_equal(id_index_find(&index, 0), PROFILE_NONE);
	assert_int_equal(id_index_find(&index, 5), PROFILE_NONE);
	assert_int_equal(id_index_find(&index, UINT32_MAX), PROFILE_NONE);

	assert_true(id_index_init(&index, mixed, 4, arena));
	assert_int_equal(id_index_find(&index, 1), 3);
	assert_int_equal(id_index_find(&index, 2), PROFILE_NONE);

	assert_true(id_index_init(&index, sparse, 4, arena));
	assert_null(index.table);
	id_index_resolve(&index, ids, ARRAY_LENGTH(ids));
	assert_int_equal(ids[0], 3);
	assert_int_equal(ids[1], 0);
	assert_int_equal(ids[2], PROFILE_NONE);
	assert_int_equal(ids[3], PROFILE_NONE);
	assert_int_equal(ids[4], 2);
	assert_int_equal(ids[5], PROFILE_NONE);

	assert_true(id_index_init(&index, NULL, 0, arena));
	assert_int_equal(id_index_find(&index, 0), PROFILE_NONE);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_keep_the_values_that_they_got),
		cmocka_unit_test(a_full_arena_is_told),
		cmocka_unit_test(ids_are_found_where_they_stand_whether_dense_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
