#include "block_example.h"
#include "storage/block_rows.h"
#include "tests/unit/storage/arena_fixture.h"

static struct block_detail decoded(struct str payload)
{
	struct block_detail detail;
	struct error err = { 0 };

	assert_int_equal(block_detail_decode(payload, arena, &detail, &err), 0);
	return detail;
}

static struct str encode(const struct block_detail_columns *columns)
{
	struct strbuf out;
	struct error err = { 0 };

	strbuf_init(&out, (size_t)1 << 20);
	assert_int_equal(block_detail_encode(columns, arena, &out, &err), 0);
	return arena_take_written(&out);
}

static void the_documented_example_is_what_is_written(void **state)
{
	static const uint32_t groups[] = { 0, 2 };
	static const uint32_t stacks[] = { 1, 2 };
	static const uint32_t row_counts[] = { 1, 2 };
	static const uint32_t profiles[] = { 0, 1, 0 };
	static const int64_t samples[] = { 3, 1, 4 };
	static const int64_t cpu[] = { 30000000, 10000000, 40000000 };
	static const int64_t *const values[] = { samples, cpu };
	const struct block_detail_columns columns = {
		{ 1, groups }, 2, 3, 2, stacks, row_counts, profiles, values, NULL, NULL,
	};
	const struct str bytes = encode(&columns);

	(void)state;
	assert_int_equal(bytes.length, sizeof(example_detail) - 1);
	assert_memory_equal(bytes.data, example_detail, bytes.length);
}

static void the_documented_example_reads_as_it_says(void **state)
{
	static const struct block_span all = { 0, 2 };
	static const uint32_t firsts[] = { 0, 2, 3 };
	static const uint32_t stacks[] = { 1, 2, 2 };
	static const int64_t cpu[] = { 40000000, 30000000, 10000000 };
	static const int64_t samples[] = { 4, 3, 1 };
	static const uint32_t series[] = { 1, 0 };
	const struct block_detail detail = decoded(EXAMPLE(example_detail));
	struct block_rows rows;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(detail.largest_stack, 2);
	assert_int_equal(block_detail_rows(&detail, &all, 1, series, 2, arena, &rows, &err), 0);
	assert_int_equal(rows.profile_count, 2);
	assert_memory_equal(rows.firsts, firsts, sizeof(firsts));
	assert_memory_equal(rows.stacks, stacks, sizeof(stacks));
	assert_memory_equal(rows.values[0], cpu, sizeof(cpu));
	assert_memory_equal(rows.values[1], samples, sizeof(samples));
	assert_null(rows.span_ids);
	assert_null(rows.trace_ids);
}

static void a_cut_adds_the_rows_of_its_profiles(void **state)
{
	static const struct {
		struct block_span spans[2];
		size_t count;
		int64_t sums[3];
	} cases[] = {
		{ { { 0, 2 } }, 1, { 0, 40000000, 40000000 } },
		{ { { 0, 1 } }, 1, { 0, 40000000, 30000000 } },
		{ { { 1, 2 } }, 1, { 0, 0, 10000000 } },
		{ { { 0, 1 }, { 1, 2 } }, 2, { 0, 40000000, 40000000 } },
		{ { { 1, 1 } }, 1, { 0, 0, 0 } },
		{ { { 0, 0 } }, 0, { 0, 0, 0 } },
	};
	const struct block_detail detail = decoded(EXAMPLE(example_detail));

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct accumulator accumulator = { 0 };
		struct error err = { 0 };

		assert_int_equal(accumulator_reserve(&accumulator, 3, &err), 0);
		assert_int_equal(block_detail_add(&detail, 1, cases[i].spans, cases[i].count, arena,
		                                  &accumulator, &err),
		                 0);
		assert_memory_equal(accumulator.sums, cases[i].sums, sizeof(cases[i].sums));
		accumulator_fini(&accumulator);
	}
}

static void spans_that_are_none_are_corrupt(void **state)
{
	static const struct block_span cases[][2] = {
		{ { 0, 3 }, { 3, 3 } }, /* past the end */
		{ { 1, 0 }, { 1, 1 } }, /* backwards */
		{ { 0, 2 }, { 1, 2 } }, /* twice the same */
	};
	const struct block_detail detail = decoded(EXAMPLE(example_detail));
	struct accumulator accumulator = { 0 };
	struct block_rows rows;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(accumulator_reserve(&accumulator, 3, &err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_int_equal(
			block_detail_add(&detail, 0, cases[i], 2, arena, &accumulator, &err), -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
		assert_int_equal(
			block_detail_rows(&detail, cases[i], 2, NULL, 0, arena, &rows, &err), -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
	accumulator_fini(&accumulator);
}

/* Stack 7 of profile 1 in two spans, and once without. */
static void rows_of_several_spans_come_back_in_their_order(void **state)
{
	static const uint32_t groups[] = { 0, 2 };
	static const uint32_t stacks[] = { 7 };
	static const uint32_t row_counts[] = { 4 };
	static const uint32_t profiles[] = { 0, 1, 1, 1 };
	static const int64_t samples[] = { 5, 6, 7, 8 };
	static const int64_t *const values[] = { samples };
	static const uint64_t spans[] = { 0, 0xabc, 0xdef, 0 };
	static const uint8_t traces[4][TRACE_ID_SIZE] = { { 0 }, { 1 }, { 1 }, { 0 } };
	static const struct block_span second = { 1, 2 };
	static const uint32_t series[] = { 0 };
	const struct block_detail_columns columns = {
		{ 1, groups }, 1, 4, 1, stacks, row_counts, profiles, values, spans, traces,
	};
	const struct block_detail detail = decoded(encode(&columns));
	struct block_rows rows;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(block_detail_rows(&detail, &second, 1, series, 1, arena, &rows, &err), 0);
	assert_int_equal(rows.profile_count, 1);
	assert_int_equal(rows.firsts[1], 3);
	assert_memory_equal(rows.values[0], samples + 1, 3 * sizeof(*samples));
	assert_memory_equal(rows.span_ids, spans + 1, 3 * sizeof(*spans));
	assert_memory_equal(rows.trace_ids, traces + 1, 3 * sizeof(*traces));
}

static void stacks_are_ordered_by_their_rows_then_by_themselves(void **state)
{
	static const uint32_t row_counts[] = { 2, 5, 1, 5, 2 };
	static const uint32_t expected[] = { 1, 3, 0, 4, 2 };
	static const uint32_t begins[] = { 0, 5, 10, 12, 14, 15 };
	uint32_t order[5];
	uint32_t firsts[6];

	(void)state;
	block_detail_order(row_counts, 5, order, firsts);
	assert_memory_equal(order, expected, sizeof(order));
	assert_memory_equal(firsts, begins, sizeof(firsts));
}

static void assert_corrupt(const char *bytes, size_t length)
{
	struct block_detail detail;
	struct error err = { 0 };

	assert_int_equal(block_detail_decode(str_make(bytes, length), arena, &detail, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
}

static void cut_detail_is_corrupt(void **state)
{
	(void)state;
	for (size_t length = 0; length < sizeof(example_detail) - 1; length++)
		assert_corrupt(example_detail, length);
	assert_corrupt(example_detail, sizeof(example_detail)); /* a NUL too much */
}

static void rows_that_do_not_add_up_are_corrupt(void **state)
{
	char bytes[sizeof(example_detail) - 1];

	(void)state;
	memcpy(bytes, example_detail, sizeof(bytes));
	bytes[5] = 4; /* four rows of stacks that have three */
	assert_corrupt(bytes, sizeof(bytes));
	memcpy(bytes, example_detail, sizeof(bytes));
	bytes[14] = 0; /* steps of 0: stacks have no rows */
	assert_corrupt(bytes, sizeof(bytes));
	memcpy(bytes, example_detail, sizeof(bytes));
	bytes[6] = 4; /* a flag that is none */
	assert_corrupt(bytes, sizeof(bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_documented_example_is_what_is_written),
		cmocka_unit_test(the_documented_example_reads_as_it_says),
		cmocka_unit_test(a_cut_adds_the_rows_of_its_profiles),
		cmocka_unit_test(spans_that_are_none_are_corrupt),
		cmocka_unit_test(rows_of_several_spans_come_back_in_their_order),
		cmocka_unit_test(stacks_are_ordered_by_their_rows_then_by_themselves),
		cmocka_unit_test(cut_detail_is_corrupt),
		cmocka_unit_test(rows_that_do_not_add_up_are_corrupt),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
