#include "block_example.h"
#include "storage/block_heads.h"
#include "tests/unit/storage/arena_fixture.h"

static struct block_heads decoded(struct str payload)
{
	struct block_heads heads;
	struct error err = { 0 };

	assert_int_equal(block_heads_decode(payload, arena, &heads, &err), 0);
	return heads;
}

static void the_documented_example_is_what_is_written(void **state)
{
	static const uint32_t groups[] = { 0 };
	static const uint32_t firsts[] = { 0, 2 };
	static const int64_t times[] = { EXAMPLE_TIME, EXAMPLE_TIME + EXAMPLE_TICK };
	static const int64_t seqs[] = { 0, 0 };
	static const int64_t durations[] = { EXAMPLE_TICK, EXAMPLE_TICK };
	static const int64_t received[] = { 1728043201, 1728043216 };
	static const int64_t samples[] = { 7, 1 };
	static const int64_t cpu[] = { 70000000, 10000000 };
	static const int64_t *const totals[] = { samples, cpu };
	struct uuid ids[2];
	const struct block_heads_columns columns = {
		1, groups, firsts, 2, times, seqs, durations, received, totals, ids,
	};
	struct strbuf out;

	(void)state;
	memset(&ids[0], 0, sizeof(*ids));
	memset(&ids[1], 0x11, sizeof(*ids));
	strbuf_init(&out, 4096);
	block_heads_encode(&columns, &out);
	assert_int_equal(out.length, sizeof(example_heads) - 1);
	assert_memory_equal(out.data, example_heads, out.length);
	strbuf_fini(&out);
}

static void the_documented_example_reads_as_it_says(void **state)
{
	const struct block_heads heads = decoded(EXAMPLE(example_heads));
	struct error err = { 0 };
	int64_t *column;

	(void)state;
	assert_int_equal(heads.group_count, 1);
	assert_int_equal(heads.profile_count, 2);
	assert_int_equal(heads.series_count, 2);
	assert_int_equal(heads.groups[0], 0);
	assert_int_equal(heads.firsts[1], 2);
	assert_true(heads.times[0] == EXAMPLE_TIME);
	assert_true(heads.times[1] == EXAMPLE_TIME + EXAMPLE_TICK);
	assert_int_equal(block_heads_seqs(&heads, arena, &column, &err), 0);
	assert_int_equal(column[1], 0);
	assert_int_equal(block_heads_durations(&heads, arena, &column, &err), 0);
	assert_true(column[1] == EXAMPLE_TICK);
	assert_int_equal(block_heads_received(&heads, arena, &column, &err), 0);
	assert_true(column[0] == 1728043201 && column[1] == 1728043216);
	assert_int_equal(block_heads_totals(&heads, 0, arena, &column, &err), 0);
	assert_true(column[0] == 7 && column[1] == 1);
	assert_int_equal(block_heads_totals(&heads, 1, arena, &column, &err), 0);
	assert_true(column[0] == 70000000 && column[1] == 10000000);
	assert_int_equal(block_heads_id(&heads, 1).bytes[15], 0x11);
	assert_int_equal(block_heads_totals(&heads, 2, arena, &column, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
}

/* Groups 3, 7 and 20 of 2, 3 and 1 profiles. */
static struct block_heads three_groups(void)
{
	static const uint32_t groups[] = { 3, 7, 20 };
	static const uint32_t firsts[] = { 0, 2, 5, 6 };
	static const int64_t times[] = { 10, 20, INT64_MIN, 10, INT64_MAX, 15 };
	static const int64_t zeros[6] = { 0 };
	static const struct uuid ids[6] = { 0 };
	const struct block_heads_columns columns = {
		3, groups, firsts, 0, times, zeros, zeros, zeros, NULL, ids,
	};
	struct strbuf out;

	strbuf_init(&out, 4096);
	block_heads_encode(&columns, &out);
	return decoded(arena_take_written(&out));
}

static void groups_are_found_by_id(void **state)
{
	const struct block_heads heads = three_groups();

	(void)state;
	assert_int_equal(block_heads_find(&heads, 3), 0);
	assert_int_equal(block_heads_find(&heads, 7), 1);
	assert_int_equal(block_heads_find(&heads, 20), 2);
	assert_int_equal(block_heads_find(&heads, 0), UINT32_MAX);
	assert_int_equal(block_heads_find(&heads, 8), UINT32_MAX);
	assert_int_equal(block_heads_find(&heads, 21), UINT32_MAX);
}

static void a_range_of_times_is_a_span_of_profiles(void **state)
{
	static const struct {
		uint32_t group_index;
		int64_t start;
		int64_t end;
		struct block_span span;
	} cases[] = {
		{ 0, 10, 20, { 0, 2 } },
		{ 0, 11, 20, { 1, 2 } },
		{ 0, 10, 19, { 0, 1 } },
		{ 0, 11, 19, { 1, 1 } },
		{ 0, INT64_MIN, INT64_MAX, { 0, 2 } },
		{ 1, INT64_MIN, INT64_MAX, { 2, 5 } },
		{ 1, INT64_MIN, INT64_MIN, { 2, 3 } },
		{ 1, INT64_MAX, INT64_MAX, { 4, 5 } },
		{ 2, 16, INT64_MAX, { 6, 6 } },
		{ 2, 0, 14, { 5, 5 } },
	};
	const struct block_heads heads = three_groups();

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct block_span span = block_heads_within(&heads, cases[i].group_index,
		                                                  cases[i].start, cases[i].end);

		assert_int_equal(span.first, cases[i].span.first);
		assert_int_equal(span.end, cases[i].span.end);
	}
}

static void assert_corrupt(struct str payload)
{
	struct block_heads heads;
	struct error err = { 0 };

	assert_int_equal(block_heads_decode(payload, arena, &heads, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
}

static void cut_heads_are_corrupt(void **state)
{
	(void)state;
	for (size_t length = 0; length < sizeof(example_heads) - 1; length++)
		assert_corrupt(str_make(example_heads, length));
	assert_corrupt(str_make(example_heads, sizeof(example_heads))); /* and a NUL too much */
}

/* The head of the example with other numbers at a place. */
static void patched_is_corrupt(size_t place, char byte)
{
	char bytes[sizeof(example_heads) - 1];

	memcpy(bytes, example_heads, sizeof(bytes));
	bytes[place] = byte;
	assert_corrupt(str_make(bytes, sizeof(bytes)));
}

static void heads_that_contradict_themselves_are_corrupt(void **state)
{
	(void)state;
	patched_is_corrupt(1, 3); /* more groups than profiles */
	patched_is_corrupt(7, 2); /* one profile in all groups, of two */
	patched_is_corrupt(4, 1); /* group -1 */
	/* the second time before the first one: 1 and 0 times 15 s */
	{
		char bytes[sizeof(example_heads) - 1];

		memcpy(bytes, example_heads, sizeof(bytes));
		assert_memory_equal(bytes + 26, "\x00\x01", 2);
		bytes[26] = 1;
		bytes[27] = 0;
		assert_corrupt(str_make(bytes, sizeof(bytes)));
	}
}

static void origins_are_sixteen_bytes_a_profile(void **state)
{
	static const struct hash128 origins[] = { { 1, 2 }, { 0, 0 } };
	const struct hash128 *back;
	struct strbuf out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&out, 4096);
	block_origins_encode(origins, 2, &out);
	assert_int_equal(out.length, 32);
	assert_int_equal(block_origins_decode(strbuf_view(&out), 2, arena, &back, &err), 0);
	assert_memory_equal(back, origins, sizeof(origins));
	assert_int_equal(block_origins_decode(strbuf_view(&out), 3, arena, &back, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_documented_example_is_what_is_written),
		cmocka_unit_test(the_documented_example_reads_as_it_says),
		cmocka_unit_test(groups_are_found_by_id),
		cmocka_unit_test(a_range_of_times_is_a_span_of_profiles),
		cmocka_unit_test(cut_heads_are_corrupt),
		cmocka_unit_test(heads_that_contradict_themselves_are_corrupt),
		cmocka_unit_test(origins_are_sixteen_bytes_a_profile),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
