#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage/hash_slots.h"

#define IDS 10000

/* How often the id is found under the hash. */
static uint32_t times_found(const struct hash_slots *slots, uint32_t hash, uint32_t id)
{
	struct hash_probe probe = hash_slots_probe(slots, hash);
	uint32_t times = 0;
	uint32_t found;

	while ((found = hash_probe_next(&probe)) != HASH_SLOTS_NONE)
		times += found == id;
	return times;
}

static void ids_are_found_under_their_hash(void **state)
{
	struct hash_slots slots = { 0 };

	(void)state;
	assert_int_equal(times_found(&slots, 5, 0), 0);
	for (uint32_t id = 0; id < IDS; id++)
		hash_slots_add(&slots, id * UINT32_C(2654435761), id);
	for (uint32_t id = 0; id < IDS; id++) {
		assert_int_equal(times_found(&slots, id * UINT32_C(2654435761), id), 1);
		assert_int_equal(times_found(&slots, id * UINT32_C(2654435761) + 1, id), 0);
	}
	/* 3/4 of the slots are used at most, and tables halve backwards */
	assert_true(hash_slots_bytes(&slots) < (size_t)IDS * 8 * 8 / 3 * 2);
	hash_slots_fini(&slots);
	hash_slots_fini(&slots);
}

static void ids_of_one_hash_come_one_after_the_other(void **state)
{
	struct hash_slots slots = { 0 };

	(void)state;
	for (uint32_t id = 0; id < 200; id++)
		hash_slots_add(&slots, id % 2 ? UINT32_MAX : 0, id);
	for (uint32_t id = 0; id < 200; id++) {
		assert_int_equal(times_found(&slots, UINT32_MAX, id), id % 2);
		assert_int_equal(times_found(&slots, 0, id), 1 - id % 2);
	}
	assert_int_equal(times_found(&slots, 1, 0), 0);
	hash_slots_fini(&slots);
}

/* A reader that stands in a table goes on there while another takes its place. */
static void a_look_up_under_way_outlives_growth(void **state)
{
	struct hash_slots slots = { 0 };
	struct hash_probe probe;

	(void)state;
	hash_slots_add(&slots, 3, 0);
	hash_slots_add(&slots, 3, 1);
	probe = hash_slots_probe(&slots, 3);
	assert_int_equal(hash_probe_next(&probe), 0);
	for (uint32_t id = 2; id < IDS; id++)
		hash_slots_add(&slots, id << 8, id);
	assert_int_equal(hash_probe_next(&probe), 1);
	hash_slots_fini(&slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_found_under_their_hash),
		cmocka_unit_test(ids_of_one_hash_come_one_after_the_other),
		cmocka_unit_test(a_look_up_under_way_outlives_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
