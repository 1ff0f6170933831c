#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "storage/block_numbers.h"

#define MANY 5000

static void encode(const int64_t *numbers, size_t count, struct strbuf *out)
{
	const struct block_numbers_plan plan = block_numbers_measure(numbers, count);

	strbuf_init(out, (size_t)1 << 20);
	block_numbers_encode(numbers, count, &plan, out);
	assert_false(strbuf_overflowed(out));
}

static void assert_reads_back(const int64_t *numbers, size_t count)
{
	CLEANUP(strbuf_fini) struct strbuf bytes;
	struct block_numbers decoded;
	struct byte_cursor cursor;
	int64_t back[MANY];

	encode(numbers, count, &bytes);
	cursor = byte_cursor(strbuf_view(&bytes));
	assert_true(block_numbers_decode(&cursor, count, &decoded));
	assert_true(byte_cursor_done(&cursor));
	block_numbers_read(&decoded, 0, count, back);
	assert_memory_equal(back, numbers, count * sizeof(*numbers));
}

static void numbers_stand_as_the_format_says(void **state)
{
	static const struct {
		int64_t numbers[4];
		size_t count;
		const char *bytes;
		size_t length;
	} cases[] = {
		/* least 1, a byte each, scale 1; three bytes: 2, 0, 3 */
		{ { 3, 1, 4 }, 3, "\x02\x01\x01\x03\x02\x00\x03", 7 },
		/* least 1000, scale 2000 */
		{ { 1000, 5000, 3000 }, 3, "\xd0\x0f\x01\xd0\x0f\x03\x00\x02\x01", 9 },
		/* all are -1: no planes */
		{ { -1, -1 }, 2, "\x01\x00", 2 },
		{ { 0 }, 0, "\x00\x00", 2 },
		/* least -2; 0, 1 and 259 = 0x103: all low bytes, then all high ones */
		{ { -2, -1, 257 }, 3, "\x03\x02\x01\x03\x00\x01\x03\x03\x00\x00\x01", 11 },
		/* zeros at the end of a plane are left out, of the low one too */
		{ { 257, 1, 1, 1 }, 4, "\x02\x01\x80\x02\x01\x01", 6 },
		{ { 260, 1, 4, 1 }, 4, "\x02\x02\x01\x03\x03\x00\x03\x01\x01", 9 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(strbuf_fini) struct strbuf bytes;

		encode(cases[i].numbers, cases[i].count, &bytes);
		assert_int_equal(bytes.length, cases[i].length);
		assert_memory_equal(bytes.data, cases[i].bytes, bytes.length);
	}
}

static void the_ends_of_64_bits_survive(void **state)
{
	static const int64_t all[] = { INT64_MIN, INT64_MAX, 0, -1, 1 };
	static const int64_t halves[] = { 0, INT64_MIN, 0 }; /* the scale is 2^63 */
	static const int64_t high[] = { INT64_MAX, INT64_MAX - 1 };

	(void)state;
	assert_reads_back(all, ARRAY_LENGTH(all));
	assert_reads_back(halves, ARRAY_LENGTH(halves));
	assert_reads_back(high, ARRAY_LENGTH(high));
}

/* A sequence that everybody can make again: Knuth's 64-bit linear one, high bits. */
static uint64_t next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 11;
}

/* Numbers of so many bits, negative ones too. */
static void fill(int64_t *numbers, size_t count, unsigned bits)
{
	uint64_t seed = bits;

	for (size_t i = 0; i < count; i++) {
		const uint64_t number = next(&seed) << 20 ^ next(&seed);

		numbers[i] = (int64_t)(number >> (64 - bits)) - (int64_t)(UINT64_C(1) << bits) / 3;
	}
}

static void numbers_of_every_width_read_back(void **state)
{
	int64_t numbers[MANY];

	(void)state;
	for (unsigned bits = 1; bits < 63; bits++) {
		fill(numbers, MANY, bits);
		assert_reads_back(numbers, MANY);
		assert_reads_back(numbers, bits); /* shorter than a stride */
	}
}

static void any_range_is_read_and_summed_without_the_rest(void **state)
{
	static const size_t ranges[][2] = {
		{ 0, 0 }, { 0, 1 }, { 3, 7 }, { 1, 4999 }, { 0, 5000 }, { 4993, 7 }, { 2048, 2100 },
	};
	int64_t numbers[MANY];
	uint32_t members[MANY];
	uint8_t mask[MANY];

	(void)state;
	for (unsigned bits = 1; bits < 63; bits += 5) {
		CLEANUP(strbuf_fini) struct strbuf bytes;
		struct block_numbers decoded;
		struct byte_cursor cursor;

		fill(numbers, MANY, bits);
		encode(numbers, MANY, &bytes);
		cursor = byte_cursor(strbuf_view(&bytes));
		assert_true(block_numbers_decode(&cursor, MANY, &decoded));
		for (size_t i = 0; i < MANY; i++)
			mask[i] = i % 3 == 0 || i % 7 == 2 ? 0xff : 0;
		for (uint32_t i = 0; i < MANY; i++)
			members[i] = i;
		for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++) {
			const size_t first = ranges[i][0];
			const size_t count = ranges[i][1];
			int64_t part[MANY];
			uint64_t sum = 0;
			uint64_t masked = 0;

			block_numbers_read(&decoded, first, count, part);
			for (size_t j = 0; j < count; j++) {
				assert_true(part[j] == numbers[first + j]);
				sum += (uint64_t)numbers[first + j];
				masked += mask[j] ? (uint64_t)numbers[first + j] : 0;
			}
			assert_true(block_numbers_sum(&decoded, first, count) == sum);
			assert_true(block_numbers_sum_masked(&decoded, first, count, mask) ==
			            masked);
			assert_true(block_numbers_sum_members(&decoded, first, count, members,
			                                      mask) == masked);
		}
	}
}

/* 5,000 bytes of 255 are more than sixteen bits hold. */
static void sums_of_large_bytes_do_not_overflow(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf bytes;
	struct block_numbers decoded;
	struct byte_cursor cursor;
	int64_t numbers[MANY];

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		numbers[i] = i > 0 ? 255 : 0;
	numbers[1] = 254; /* so that the scale is 1 */
	encode(numbers, MANY, &bytes);
	cursor = byte_cursor(strbuf_view(&bytes));
	assert_true(block_numbers_decode(&cursor, MANY, &decoded));
	assert_int_equal(decoded.width, 1);
	assert_int_equal(block_numbers_sum(&decoded, 0, MANY), 254 + 4998 * 255);
}

static void cut_or_too_wide_columns_are_refused(void **state)
{
	static const int64_t numbers[] = { 70000, -5, 12 };
	static const char too_wide[] = "\x00\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00";
	static const char too_long[] = "\x00\x01\x01\x04\x01\x02\x03\x04";
	CLEANUP(strbuf_fini) struct strbuf bytes;
	struct block_numbers decoded;
	struct byte_cursor cursor;

	(void)state;
	encode(numbers, ARRAY_LENGTH(numbers), &bytes);
	for (size_t length = 0; length < bytes.length; length++) {
		cursor = byte_cursor(str_first(strbuf_view(&bytes), length));
		assert_false(block_numbers_decode(&cursor, ARRAY_LENGTH(numbers), &decoded));
	}
	cursor = byte_cursor(str_make(too_wide, sizeof(too_wide) - 1));
	assert_false(block_numbers_decode(&cursor, 3, &decoded));
	cursor = byte_cursor(str_make(too_long, sizeof(too_long) - 1));
	assert_false(block_numbers_decode(&cursor, 3, &decoded));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_stand_as_the_format_says),
		cmocka_unit_test(the_ends_of_64_bits_survive),
		cmocka_unit_test(numbers_of_every_width_read_back),
		cmocka_unit_test(any_range_is_read_and_summed_without_the_rest),
		cmocka_unit_test(sums_of_large_bytes_do_not_overflow),
		cmocka_unit_test(cut_or_too_wide_columns_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
