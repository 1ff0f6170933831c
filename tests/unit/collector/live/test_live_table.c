#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/live/live_table.h"

#define NAIVE_MAX 500

static bool put(struct live_table *table, uint64_t address, uint64_t bytes, uint32_t sum)
{
	const struct live_block block = { .address = address, .bytes = bytes, .sum = sum };

	return live_table_put(table, &block);
}

static void a_block_is_found_once(void **state)
{
	struct budget budget;
	struct live_table table;
	struct live_block block;

	(void)state;
	budget_init(&budget, 1 << 20);
	live_table_init(&table, &budget);
	assert_false(live_table_take(&table, 7, &block));
	assert_true(put(&table, 7, 100, 3));
	assert_true(put(&table, 0, 50, 4));
	assert_true(live_table_find(&table, 0, &block));
	assert_true(live_table_take(&table, 7, &block));
	assert_int_equal(block.bytes, 100);
	assert_int_equal(block.sum, 3);
	assert_false(live_table_take(&table, 7, &block));
	assert_int_equal(table.count, 1);
	live_table_check(&table);
	live_table_fini(&table);
	assert_int_equal(budget_used(&budget), 0);
}

static void an_empty_table_gives_its_memory_back(void **state)
{
	struct budget budget;
	struct live_table table;
	struct live_block block;

	(void)state;
	budget_init(&budget, 16 << 20);
	live_table_init(&table, &budget);
	for (uint64_t i = 0; i < 10000; i++)
		assert_true(put(&table, i << 9, i, 1));
	assert_true(budget_used(&budget) >= 10000 * sizeof(struct live_block));
	for (uint64_t i = 0; i < 9990; i++)
		assert_true(live_table_take(&table, i << 9, &block));
	assert_true(budget_used(&budget) <= 128 * sizeof(struct live_block));
	live_table_check(&table);
	for (uint64_t i = 9990; i < 10000; i++)
		assert_true(live_table_take(&table, i << 9, &block));
	assert_int_equal(budget_used(&budget), 0);
	live_table_fini(&table);
}

static void a_used_up_budget_refuses_and_keeps_what_is_there(void **state)
{
	struct budget budget;
	struct live_table table;
	struct live_block block;
	uint64_t count = 0;

	(void)state;
	budget_init(&budget, 64 * sizeof(struct live_block));
	live_table_init(&table, &budget);
	while (put(&table, count + 1, 10, 0))
		count++;
	assert_int_equal(count, 48); /* three quarters of 64 slots */
	live_table_check(&table);
	for (uint64_t i = 1; i <= count; i++)
		assert_true(live_table_take(&table, i, &block));
	live_table_fini(&table);
}

/* Against a list that is searched from its beginning. */
static void random_blocks_are_those_of_a_list(void **state)
{
	struct live_block naive[NAIVE_MAX];
	size_t naive_count = 0;
	struct budget budget;
	struct live_table table;

	(void)state;
	srand(20); /* NOLINT: the same sequence each time */
	budget_init(&budget, 1 << 20);
	live_table_init(&table, &budget);
	for (int step = 0; step < 100000; step++) {
		const uint64_t address = (uint64_t)(rand() % 800) << 8; /* NOLINT */
		struct live_block block;
		size_t at = 0;

		while (at < naive_count && naive[at].address != address)
			at++;
		assert_int_equal(live_table_find(&table, address, &block), at < naive_count);
		if (at < naive_count) {
			assert_true(live_table_take(&table, address, &block));
			assert_int_equal(block.bytes, naive[at].bytes);
			naive[at] = naive[--naive_count];
		} else if (naive_count < NAIVE_MAX) {
			naive[naive_count++] =
				(struct live_block){ .address = address, .bytes = (uint64_t)step };
			assert_true(put(&table, address, (uint64_t)step, 0));
		}
		assert_int_equal(table.count, naive_count);
		if (step % 1000 == 0)
			live_table_check(&table);
	}
	live_table_fini(&table);
}

static void each_block_is_told_once(void **state)
{
	struct budget budget;
	struct live_table table;
	uint64_t sum = 0;
	size_t cursor = 0;
	const struct live_block *block;

	(void)state;
	budget_init(&budget, 1 << 20);
	live_table_init(&table, &budget);
	assert_null(live_table_next(&table, &cursor));
	for (uint64_t i = 1; i <= 100; i++)
		assert_true(put(&table, i << 20, i, 0));
	cursor = 0;
	while ((block = live_table_next(&table, &cursor)))
		sum += block->bytes;
	assert_int_equal(sum, 5050);
	live_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_found_once),
		cmocka_unit_test(an_empty_table_gives_its_memory_back),
		cmocka_unit_test(a_used_up_budget_refuses_and_keeps_what_is_there),
		cmocka_unit_test(random_blocks_are_those_of_a_list),
		cmocka_unit_test(each_block_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
