#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "storage/accumulator.h"
#include "storage/row_order.h"
#include "storage/series_index.h"

static void rows_are_sorted_by_stack_and_stay_in_order_otherwise(void **state)
{
	static const uint32_t stacks[] = { 5, 1u << 31, 0, 5, 300, 70000, 5, 0 };
	static const struct row_key expected[] = { { 0, 2 },     { 0, 7 },       { 5, 0 },
		                                   { 5, 3 },     { 5, 6 },       { 300, 4 },
		                                   { 70000, 5 }, { 1u << 31, 1 } };
	struct row_key keys[8];
	struct row_key spare[8];

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		keys[i] = (struct row_key){ stacks[i], i };
	row_order_sort(keys, spare, 8);
	assert_memory_equal(keys, expected, sizeof(expected));
	row_order_sort(keys, spare, 0);
}

static void sums_come_in_order_without_zeros_and_the_root(void **state)
{
	static const uint32_t ids[] = { 7, 100000, 0, 3, 7, 8, 9 };
	static const int64_t values[] = { 1, 5, 9, 2, INT64_MAX, 4, 0 };
	struct accumulator accumulator = { 0 };
	struct arena *arena = arena_new((size_t)1 << 20, NULL);
	struct stack_sums sums = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(accumulator_reserve(&accumulator, 10, &err), 0);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(accumulator_reserve(&accumulator, ids[i] + 1, &err), 0);
		accumulator_add(&accumulator, ids[i], values[i]);
	}
	accumulator_add(&accumulator, 8, -4);
	assert_int_equal(accumulator_take(&accumulator, arena, &sums, &err), 0);
	assert_int_equal(sums.count, 3);
	assert_int_equal(sums.stacks[0], 3);
	assert_int_equal(sums.stacks[1], 7);
	assert_true(sums.sums[1] == INT64_MIN); /* wrapped */
	assert_int_equal(sums.stacks[2], 100000);
	/* empty again */
	assert_int_equal(accumulator_take(&accumulator, arena, &sums, &err), 0);
	assert_int_equal(sums.count, 0);
	accumulator_fini(&accumulator);
	arena_free(arena);
}

static void sums_are_counted_in_the_budget(void **state)
{
	struct budget budget;
	struct accumulator accumulator = { .budget = &budget };
	struct error err = { 0 };

	(void)state;
	budget_init(&budget, 100000);
	assert_int_equal(accumulator_reserve(&accumulator, 1000, &err), 0);
	assert_int_equal(accumulator_reserve(&accumulator, 1000000, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	accumulator_fini(&accumulator);
	assert_int_equal(budget_used(&budget), 0);
}

static void series_come_back_from_their_bytes(void **state)
{
	/* count, then a name and a value with their lengths, twice */
	static const struct str bytes = STR("\x02\x01"
	                                    "a\x03"
	                                    "1\0"
	                                    "2\x01"
	                                    "b\0");
	static const uint32_t group[] = { 0, 0 };
	struct label labels[] = { { STR("a"), STR("1\0"
		                                  "2") },
		                  { STR("b"), STR("") } };
	const struct label_set expected = { labels, 2 };
	struct series_index *index = series_index_new(5);
	struct arena *arena = arena_new(10000, NULL);
	struct label_set set;
	struct strbuf again;
	struct series_view view;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(series_index_decode(index, bytes, &err), 0);
	strbuf_init(&again, 1000);
	series_index_encode(index, 0, &again);
	assert_true(str_equal(strbuf_view(&again), bytes));
	strbuf_reset(&again);
	series_group_encode(group, 2, &again);
	assert_int_equal(series_index_decode_group(index, strbuf_view(&again), &err), 0);
	series_index_publish(index);
	series_index_view(index, &view);
	assert_int_equal(view.series_count, 1);
	assert_int_equal(series_view_labels(&view, 0, arena, &set, &err), 0);
	assert_int_equal(label_set_compare(&set, &expected), 0);
	assert_true(str_equal(series_index_value(index, 0, STR("a")), labels[0].value));
	assert_true(str_equal(series_index_value(index, 0, STR("c")), STR("")));
	assert_int_equal(series_view_group(&view, 0)->count, 2);
	strbuf_fini(&again);
	arena_free(arena);
	series_index_free(index);
}

static void damaged_series_are_corrupt(void **state)
{
	static const struct str cases[] = {
		STR(""),     /* no count */
		STR("\x01"), /* no label */
		STR("\x01\x01"
		    "a"), /* no value */
		STR("\x01\x01"
		    "a\x01"
		    "b\x01"), /* more behind */
		STR("\x02\x01"
		    "b\0\x01"
		    "a\0"), /* not in order */
		STR("\x02\x01"
		    "a\0\x01"
		    "a\0"), /* twice */
		STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	};
	struct series_index *index = series_index_new(5);
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(series_index_decode(index, cases[i], &err), -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
	assert_int_equal(series_index_decode_group(index, STR("\0"), &err), -1);
	assert_int_equal(series_index_decode_group(index, STR("\x80"), &err), -1);
	assert_int_equal(index->series_count + index->group_count, 0);
	series_index_free(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sorted_by_stack_and_stay_in_order_otherwise),
		cmocka_unit_test(sums_come_in_order_without_zeros_and_the_root),
		cmocka_unit_test(sums_are_counted_in_the_budget),
		cmocka_unit_test(series_come_back_from_their_bytes),
		cmocka_unit_test(damaged_series_are_corrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
