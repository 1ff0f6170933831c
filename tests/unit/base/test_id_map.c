#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/id_map.h"

static struct hash128 key_of(uint32_t number)
{
	return hash128(1, &number, sizeof(number));
}

static void ids_count_up_in_the_order_of_appearance(void **state)
{
	CLEANUP(id_map_fini) struct id_map map = { 0 };
	bool is_new;

	(void)state;
	assert_int_equal(id_map_find(&map, key_of(0)), ID_MAP_NONE);
	id_map_check(&map);
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(id_map_add(&map, key_of(i), &is_new), i);
		assert_true(is_new);
		if (i < 200 || i % 1000 == 0)
			id_map_check(&map);
	}
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(id_map_add(&map, key_of(i), &is_new), i);
		assert_false(is_new);
		assert_int_equal(id_map_find(&map, key_of(i)), i);
	}
	assert_int_equal(id_map_find(&map, key_of(10000)), ID_MAP_NONE);
	assert_int_equal(map.count, 10000);
	assert_in_range(id_map_bytes(&map), 10000 * 20, 10000 * 48);
	id_map_check(&map);
}

static void keys_of_one_place_stay_apart(void **state)
{
	CLEANUP(id_map_fini) struct id_map map = { 0 };
	bool is_new;

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		/* all of them want the last slot, so that the probe wraps */
		const struct hash128 key = { UINT64_C(0xffffffff), i };

		assert_int_equal(id_map_add(&map, key, &is_new), i);
		assert_true(is_new);
		id_map_check(&map);
	}
	assert_int_equal(id_map_find(&map, (struct hash128){ UINT64_C(0xffffffff), 17 }), 17);
	assert_int_equal(id_map_find(&map, (struct hash128){ UINT64_C(0xffffffff), 40 }),
	                 ID_MAP_NONE);
}

static void a_zero_key_is_a_key(void **state)
{
	CLEANUP(id_map_fini) struct id_map map = { 0 };
	bool is_new;

	(void)state;
	assert_int_equal(id_map_add(&map, (struct hash128){ 0, 0 }, &is_new), 0);
	assert_true(is_new);
	assert_int_equal(id_map_find(&map, (struct hash128){ 0, 0 }), 0);
}

static void after_a_reset_ids_begin_again(void **state)
{
	CLEANUP(id_map_fini) struct id_map map = { 0 };
	size_t bytes;
	bool is_new;

	(void)state;
	id_map_reset(&map);
	for (uint32_t i = 0; i < 1000; i++)
		(void)id_map_add(&map, key_of(i), &is_new);
	bytes = id_map_bytes(&map);
	id_map_reset(&map);
	id_map_check(&map);
	assert_int_equal(id_map_find(&map, key_of(3)), ID_MAP_NONE);
	assert_int_equal(id_map_add(&map, key_of(3), &is_new), 0);
	assert_true(is_new);
	assert_int_equal(id_map_bytes(&map), bytes);
	id_map_check(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_count_up_in_the_order_of_appearance),
		cmocka_unit_test(keys_of_one_place_stay_apart),
		cmocka_unit_test(a_zero_key_is_a_key),
		cmocka_unit_test(after_a_reset_ids_begin_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
