#include "storage/block_values.h"
#include "tests/unit/storage/arena_fixture.h"

#define ROWS 6

static struct str encode(const struct block_columns *columns)
{
	int64_t spare[64];
	struct strbuf out;

	strbuf_init(&out, (size_t)1 << 20);
	block_values_encode(columns, spare, &out);
	return arena_take_written(&out);
}

static int decode(struct str bytes, const struct block_columns *columns, struct block_values *out,
                  struct error *err)
{
	const struct block_shape shape = { columns->row_count, columns->series_count,
		                           columns->key_count, columns->run_count };
	struct byte_cursor cursor = byte_cursor(bytes);

	return block_values_decode(&cursor, &shape, arena, out, err);
}

static void assert_read_back(const struct block_columns *columns)
{
	struct error err = { 0 };
	struct block_values values;

	assert_int_equal(decode(encode(columns), columns, &values, &err), 0);
	for (uint32_t i = 0; i < columns->series_count; i++) {
		struct block_series series;

		assert_int_equal(block_values_open(&values, i, arena, &series, &err), 0);
		for (uint32_t run = 0; run < columns->run_count; run++) {
			const uint32_t first = columns->firsts ? columns->firsts[run] : run;
			const uint32_t end = columns->firsts ? columns->firsts[run + 1] : run + 1;
			int64_t back[ROWS];

			block_series_read(&series, first, end - first, columns->keys[run], run,
			                  back);
			assert_memory_equal(back, columns->values[i] + first,
			                    (end - first) * sizeof(*back));
		}
	}
}

static const uint32_t firsts[] = { 0, 4, ROWS };
static const uint32_t keys[] = { 1, 0 };

/* Two runs, of keys 1 and 0. */
static struct block_columns of_runs(const int64_t *const *values, uint32_t series_count)
{
	return (struct block_columns){
		.row_count = ROWS,
		.series_count = series_count,
		.key_count = 2,
		.run_count = 2,
		.firsts = firsts,
		.keys = keys,
		.values = values,
	};
}

static void a_constant_multiple_costs_its_factor(void **state)
{
	static const int64_t count[ROWS] = { 1, 5, 2, 7, 3, 1 };
	static const int64_t ten[ROWS] = { 10, 50, 20, 70, 30, 10 };
	static const int64_t *const values[] = { count, ten };
	/* numbers, least 1, a byte each, scale 1; then a multiple of series 0, factor 10 */
	static const char bytes[] = "\x00\x02\x01\x01\x05\x00\x04\x01\x06\x02"
				    "\x03\x00\x14\x00";
	const struct block_columns columns = of_runs(values, 2);
	const struct str encoded = encode(&columns);

	(void)state;
	assert_text(encoded, bytes);
	assert_read_back(&columns);
}

static void a_multiple_by_key_costs_a_factor_a_key(void **state)
{
	static const int64_t count[ROWS] = { 1, 5, 2, 7, 3, 9 };
	static const int64_t space[ROWS] = { 1024, 5120, 2048, 7168, 1536, 4608 };
	static const int64_t *const values[] = { count, space };
	/* factors 512 and 1024: least 512, a byte each, scale 512 */
	static const char bytes[] = "\x03\x00\x80\x08\x01\x80\x04\x02\x00\x01";
	const struct block_columns one = of_runs(values, 1);
	const struct block_columns columns = of_runs(values, 2);
	const struct str encoded = str_skip(encode(&columns), encode(&one).length);

	(void)state;
	assert_text(encoded, bytes);
	assert_read_back(&columns);
}

/* Both runs are of one key: sizes that differ from process to process. */
static void a_multiple_by_run_costs_a_factor_a_run(void **state)
{
	static const int64_t count[ROWS] = { 1, 5, 2, 7, 3, 9 };
	static const int64_t space[ROWS] = { 1024, 5120, 2048, 7168, 1536, 4608 };
	static const int64_t *const values[] = { count, space };
	static const uint32_t same[] = { 0, 0 };
	/* factors 1024 and 512: least 512, a byte each, scale 512 */
	static const char bytes[] = "\x04\x00\x80\x08\x01\x80\x04\x01\x01";
	struct block_columns one = of_runs(values, 1);
	struct block_columns columns = of_runs(values, 2);
	struct str encoded;

	(void)state;
	one.keys = columns.keys = same;
	one.key_count = columns.key_count = 1;
	encoded = str_skip(encode(&columns), encode(&one).length);
	assert_text(encoded, bytes);
	assert_read_back(&columns);
}

/* The run of key 0 says nothing about its factor: it takes that of the other key. */
static void a_key_whose_base_is_zero_takes_any_factor(void **state)
{
	static const int64_t count[ROWS] = { 1, 5, 2, 7, 0, 0 };
	static const int64_t space[ROWS] = { 3, 15, 6, 21, 0, 0 };
	static const int64_t *const values[] = { count, space };
	static const char bytes[] = "\x03\x00\x06\x00";
	const struct block_columns one = of_runs(values, 1);
	const struct block_columns columns = of_runs(values, 2);
	const struct str encoded = str_skip(encode(&columns), encode(&one).length);

	(void)state;
	assert_text(encoded, bytes);
	assert_read_back(&columns);
}

/* What breathes slowly is steps: 40 and 90, and then one more or less. */
static void a_gauge_is_steps_within_each_run(void **state)
{
	static const int64_t gauge[ROWS] = { 40, 41, 42, 43, 90, 91 };
	static const int64_t *const values[] = { gauge };
	/* steps: least 1, a byte each, scale 1: 39 0 0 0 89 0 */
	static const char bytes[] = "\x01\x02\x01\x01\x05\x27\x00\x00\x00\x59";
	const struct block_columns columns = of_runs(values, 1);
	const struct str encoded = encode(&columns);

	(void)state;
	assert_text(encoded, bytes);
	assert_read_back(&columns);
}

static void accelerating_numbers_are_steps_of_steps(void **state)
{
	static const int64_t squares[] = { 0, 1, 4, 9, 16, 25, 36, 49, 64, 81 };
	/* steps of steps: 0 1 2 2 2 2 2 2 2 2 */
	static const char bytes[] = "\x02\x00\x01\x01\x0a\x00\x01\x02\x02\x02\x02\x02\x02\x02\x02";
	int64_t spare[ARRAY_LENGTH(squares)];
	struct strbuf out;
	struct byte_cursor cursor;
	struct error err = { 0 };
	int64_t *back;

	(void)state;
	strbuf_init(&out, 1024);
	block_values_encode_one(squares, ARRAY_LENGTH(squares), spare, &out);
	assert_text(strbuf_view(&out), bytes);
	cursor = byte_cursor(strbuf_view(&out));
	assert_int_equal(
		block_values_decode_one(&cursor, ARRAY_LENGTH(squares), arena, &back, &err), 0);
	assert_memory_equal(back, squares, sizeof(squares));
	strbuf_fini(&out);
}

static void the_ends_of_64_bits_survive_every_coding(void **state)
{
	static const int64_t jumps[ROWS] = { INT64_MIN, INT64_MAX, INT64_MIN,
		                             INT64_MAX, INT64_MIN, -1 };
	static const int64_t slow[ROWS] = { INT64_MAX,     INT64_MAX - 1, INT64_MAX,
		                            INT64_MAX - 1, INT64_MIN,     INT64_MIN + 1 };
	static const int64_t large[ROWS] = { INT64_MAX / 3, 0, 1, 2, 3, 4 };
	static const int64_t thrice[ROWS] = { INT64_MAX / 3 * 3, 0, 3, 6, 9, 12 };
	static const int64_t negative[ROWS] = { -1, INT64_MIN, 0, 0, -7, -7 };
	static const int64_t *const values[] = { jumps, slow, large, thrice, negative };
	const struct block_columns columns = of_runs(values, ARRAY_LENGTH(values));

	(void)state;
	assert_read_back(&columns);
	for (uint32_t i = 0; i < ARRAY_LENGTH(values); i++) {
		const struct block_columns one = of_runs(&values[i], 1);

		assert_read_back(&one);
	}
}

/* Rows that are read one by one have no steps, however small these were. */
static void single_rows_are_no_steps(void **state)
{
	static const int64_t gauge[ROWS] = { 40, 41, 42, 43, 44, 45 };
	static const int64_t *const values[] = { gauge };
	static const uint32_t own_keys[ROWS] = { 0, 1, 0, 1, 0, 1 };
	const struct block_columns columns = {
		.row_count = ROWS,
		.series_count = 1,
		.key_count = 2,
		.run_count = ROWS,
		.keys = own_keys,
		.values = values,
	};

	(void)state;
	assert_int_equal(encode(&columns).data[0], BLOCK_CODING_NUMBERS);
	assert_read_back(&columns);
}

static void columns_that_lead_astray_are_corrupt(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} cases[] = {
		{ "\x05\x00\x00", 3 },                                  /* no coding */
		{ "\x03\x00\x02\x00", 4 },                              /* of itself */
		{ "\x00\x00\x00\x03\x01\x02\x00", 7 },                  /* likewise */
		{ "\x00\x00\x00\x04\x00\x02\x00\x03\x01\x02\x00", 11 }, /* of a multiple */
		{ "\x00\x00\x01\x01\x06\x05", 6 },                      /* five are missing */
		{ "\x03\x00\x02\x01\x01\x03\x01\x02\x03", 9 },          /* three factors of two */
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct block_columns columns = {
			.row_count = ROWS,
			.series_count = 3,
			.key_count = 2,
			.run_count = 2,
		};
		struct block_values values;
		struct error err = { 0 };

		assert_int_equal(decode(str_make(cases[i].bytes, cases[i].length), &columns,
		                        &values, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
}

static void a_series_that_is_not_there_is_corrupt(void **state)
{
	static const int64_t zeros[ROWS] = { 0 };
	static const int64_t *const values[] = { zeros };
	const struct block_columns columns = of_runs(values, 1);
	struct block_values decoded;
	struct block_series series;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(decode(encode(&columns), &columns, &decoded, &err), 0);
	assert_int_equal(block_values_open(&decoded, 1, arena, &series, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_constant_multiple_costs_its_factor),
		cmocka_unit_test(a_multiple_by_key_costs_a_factor_a_key),
		cmocka_unit_test(a_multiple_by_run_costs_a_factor_a_run),
		cmocka_unit_test(a_key_whose_base_is_zero_takes_any_factor),
		cmocka_unit_test(a_gauge_is_steps_within_each_run),
		cmocka_unit_test(accelerating_numbers_are_steps_of_steps),
		cmocka_unit_test(the_ends_of_64_bits_survive_every_coding),
		cmocka_unit_test(single_rows_are_no_steps),
		cmocka_unit_test(columns_that_lead_astray_are_corrupt),
		cmocka_unit_test(a_series_that_is_not_there_is_corrupt),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
