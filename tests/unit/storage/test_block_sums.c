#include "block_example.h"
#include "storage/block_sums.h"
#include "tests/unit/storage/arena_fixture.h"

static struct str encode(const struct block_sums_columns *columns)
{
	struct strbuf out;

	strbuf_init(&out, (size_t)1 << 20);
	block_sums_encode(columns, &out);
	return arena_take_written(&out);
}

static struct block_sums decoded(struct str payload)
{
	struct block_sums sums;
	struct error err = { 0 };

	assert_int_equal(block_sums_decode(payload, arena, &sums, &err), 0);
	return sums;
}

/* A list of one group. */
#define GROUP(index) (&(struct block_group_list){ (uint32_t[]){ index }, 1 })

/* What groups and a series add to nothing, as a dense array. */
static void assert_adds(const struct block_sums *sums, const struct block_group_list *groups,
                        uint32_t series, const int64_t *expected, uint32_t count)
{
	struct accumulator accumulator = { 0 };
	struct error err = { 0 };

	assert_int_equal(accumulator_reserve(&accumulator, count, &err), 0);
	assert_int_equal(block_sums_add(sums, groups, series, arena, &accumulator, &err), 0);
	assert_memory_equal(accumulator.sums, expected, count * sizeof(*expected));
	accumulator_fini(&accumulator);
}

static void the_documented_example_is_what_is_written(void **state)
{
	static const uint32_t stacks[] = { 1, 2 };
	static const uint32_t firsts[] = { 0, 2 };
	static const uint32_t entries[] = { 0, 1 };
	static const int64_t samples[] = { 4, 4 };
	static const int64_t cpu[] = { 40000000, 40000000 };
	static const int64_t *const values[] = { samples, cpu };
	const struct block_sums_columns columns = { 1, 2, 2, stacks, firsts, entries, values };
	const struct str bytes = encode(&columns);

	(void)state;
	assert_int_equal(bytes.length, sizeof(example_sums) - 1);
	assert_memory_equal(bytes.data, example_sums, bytes.length);
}

static void the_documented_example_reads_as_it_says(void **state)
{
	static const int64_t samples[] = { 0, 4, 4 };
	static const int64_t cpu[] = { 0, 40000000, 40000000 };
	const struct block_sums sums = decoded(EXAMPLE(example_sums));

	(void)state;
	assert_int_equal(sums.largest_stack, 2);
	assert_adds(&sums, GROUP(0), 0, samples, 3);
	assert_adds(&sums, GROUP(0), 1, cpu, 3);
}

/*
 * Three groups over stacks 5, 8, 9 and 12; the second series is the first one times
 * 512, 64, 8 and 1 by stack.
 */
static struct block_sums three_groups(void)
{
	static const uint32_t stacks[] = { 5, 8, 9, 12 };
	static const uint32_t firsts[] = { 0, 3, 4, 8 };
	static const uint32_t entries[] = { 0, 2, 3, 1, 0, 1, 2, 3 };
	static const int64_t count[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const int64_t space[] = { 512, 16, 3, 256, 2560, 384, 56, 8 };
	static const int64_t *const values[] = { count, space };
	const struct block_sums_columns columns = { 3, 2, 4, stacks, firsts, entries, values };

	return decoded(encode(&columns));
}

static void a_group_adds_its_own_entries(void **state)
{
	static const int64_t first[] = { [5] = 1, [9] = 2, [12] = 3 };
	static const int64_t second[13] = { [8] = 4 };
	static const int64_t third[] = { [5] = 2560, [8] = 384, [9] = 56, [12] = 8 };
	const struct block_sums sums = three_groups();

	(void)state;
	assert_int_equal(sums.values.columns[1].coding, BLOCK_CODING_MULTIPLE);
	assert_adds(&sums, GROUP(0), 0, first, 13);
	assert_adds(&sums, GROUP(1), 0, second, 13);
	assert_adds(&sums, GROUP(2), 1, third, 13);
}

/* 5: 1 + 5, 8: 4 + 6, 9: 2 + 7, 12: 3 + 8; and each times its factor. */
static void groups_are_added_together(void **state)
{
	static const int64_t count[] = { [5] = 6, [8] = 10, [9] = 9, [12] = 11 };
	static const int64_t space[] = { [5] = 3072, [8] = 640, [9] = 72, [12] = 11 };
	static const uint32_t groups[] = { 0, 1, 2 };
	const struct block_group_list all = { groups, 3 };
	const struct block_sums sums = three_groups();

	(void)state;
	assert_adds(&sums, &all, 0, count, 13);
	assert_adds(&sums, &all, 1, space, 13);
}

#define MANY 300 /* stacks: some words of a bitmap are full, the last one is not */

/* Group g has stack i unless i % 100 < 3 * g: stack 2 i + 1, sum i + g, and that times g + 1. */
static void long_bitmaps_add_what_they_say(void **state)
{
	static uint32_t stacks[MANY];
	static uint32_t entries[2 * MANY];
	static int64_t plain[2 * MANY];
	static int64_t times[2 * MANY];
	static int64_t expected[2][2 * MANY];
	static const int64_t *const values[] = { plain, times };
	static const uint32_t both[] = { 0, 1 };
	uint32_t firsts[3] = { 0 };
	uint32_t count = 0;
	struct block_sums sums;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		stacks[i] = 2 * i + 1;
	for (uint32_t group = 0; group < 2; group++) {
		for (uint32_t i = 0; i < MANY; i++) {
			if (i % 100 < 3 * group)
				continue;
			entries[count] = i;
			plain[count] = i + group;
			times[count] = (int64_t)(i + group) * (group + 1);
			expected[0][2 * i + 1] += plain[count];
			expected[1][2 * i + 1] += times[count++];
		}
		firsts[group + 1] = count;
	}
	sums = decoded(encode(
		&(struct block_sums_columns){ 2, 2, MANY, stacks, firsts, entries, values }));
	assert_non_null(sums.presence.lists[0].bitmap);
	for (uint32_t series = 0; series < 2; series++)
		assert_adds(&sums, &(struct block_group_list){ both, 2 }, series, expected[series],
		            2 * MANY);
}

static void groups_and_series_that_are_not_there_are_corrupt(void **state)
{
	const struct block_sums sums = three_groups();
	struct accumulator accumulator = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(accumulator_reserve(&accumulator, 13, &err), 0);
	assert_int_equal(block_sums_add(&sums, GROUP(3), 0, arena, &accumulator, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	assert_int_equal(block_sums_add(&sums, GROUP(0), 2, arena, &accumulator, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	accumulator_fini(&accumulator);
}

static void a_block_without_rows_has_sums_of_nothing(void **state)
{
	static const uint32_t firsts[] = { 0, 0 };
	static const int64_t *const values[] = { NULL };
	const struct block_sums_columns columns = { 1, 1, 0, NULL, firsts, NULL, values };
	const struct block_sums sums = decoded(encode(&columns));
	struct accumulator accumulator = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(sums.stack_count, 0);
	assert_int_equal(block_sums_add(&sums, GROUP(0), 0, arena, &accumulator, &err), 0);
}

static void cut_sums_are_corrupt(void **state)
{
	struct block_sums sums;

	(void)state;
	for (size_t length = 0; length <= sizeof(example_sums); length++) {
		struct error err = { 0 };

		if (length == sizeof(example_sums) - 1)
			continue; /* the whole; with a NUL behind it, it is one too long */
		assert_int_equal(
			block_sums_decode(str_make(example_sums, length), arena, &sums, &err), -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
}

/* Sixteen bytes that promise four thousand million entries. */
static void what_is_promised_is_bounded_by_what_is_there(void **state)
{
	static const char bytes[] = "\x01\x01\xff\xff\xff\xff\x0f\xff\xff\xff\xff\x0f\x00\x00\x00";
	struct block_sums sums;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(block_sums_decode(str_make(bytes, sizeof(bytes) - 1), arena, &sums, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_documented_example_is_what_is_written),
		cmocka_unit_test(the_documented_example_reads_as_it_says),
		cmocka_unit_test(a_group_adds_its_own_entries),
		cmocka_unit_test(groups_are_added_together),
		cmocka_unit_test(long_bitmaps_add_what_they_say),
		cmocka_unit_test(groups_and_series_that_are_not_there_are_corrupt),
		cmocka_unit_test(a_block_without_rows_has_sums_of_nothing),
		cmocka_unit_test(cut_sums_are_corrupt),
		cmocka_unit_test(what_is_promised_is_bounded_by_what_is_there),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
