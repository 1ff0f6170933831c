#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/varint.h"

static bool read_all(struct str bytes, uint64_t *out, size_t *out_length)
{
	const uint8_t *start = (const uint8_t *)bytes.data;
	const uint8_t *at = start;
	const bool good = varint_read(&at, start + bytes.length, out);

	*out_length = (size_t)(at - start);
	return good;
}

/* The examples of the protobuf encoding guide, and the edges of each length. */
static void numbers_have_their_known_bytes(void **state)
{
	static const struct {
		uint64_t number;
		struct str bytes;
	} cases[] = {
		{ 0, STR("\x00") },
		{ 1, STR("\x01") },
		{ 127, STR("\x7f") },
		{ 128, STR("\x80\x01") },
		{ 150, STR("\x96\x01") },
		{ 16383, STR("\xff\x7f") },
		{ 16384, STR("\x80\x80\x01") },
		{ UINT32_MAX, STR("\xff\xff\xff\xff\x0f") },
		{ INT64_MAX, STR("\xff\xff\xff\xff\xff\xff\xff\xff\x7f") },
		{ UINT64_MAX, STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint8_t bytes[VARINT_MAX];
		uint64_t number;
		size_t length;

		assert_int_equal(varint_write(bytes, cases[i].number), cases[i].bytes.length);
		assert_int_equal(varint_length(cases[i].number), cases[i].bytes.length);
		assert_memory_equal(bytes, cases[i].bytes.data, cases[i].bytes.length);
		assert_true(read_all(cases[i].bytes, &number, &length));
		assert_true(number == cases[i].number);
		assert_int_equal(length, cases[i].bytes.length);
	}
}

static void padded_numbers_are_read(void **state)
{
	static const struct {
		struct str bytes;
		uint64_t number;
	} cases[] = {
		{ STR("\x80\x00"), 0 },
		{ STR("\x81\x80\x00"), 1 },
		{ STR("\x85\x80\x80\x80\x80\x80\x80\x80\x80\x00"), 5 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint64_t number;
		size_t length;

		assert_true(read_all(cases[i].bytes, &number, &length));
		assert_true(number == cases[i].number);
		assert_int_equal(length, cases[i].bytes.length);
	}
}

static void cut_and_overlong_numbers_are_refused(void **state)
{
	static const struct str cases[] = {
		STR(""),
		STR("\x80"),
		STR("\xff\xff"),
		STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), /* a 65th bit */
		STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00"),
		STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), /* eleven bytes */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint64_t number = 77;
		size_t length;

		assert_false(read_all(cases[i], &number, &length));
		assert_int_equal(length, 0);
		assert_int_equal(number, 77);
	}
}

static void small_numbers_of_both_signs_become_small(void **state)
{
	static const struct {
		int64_t number;
		uint64_t code;
	} cases[] = {
		{ 0, 0 },
		{ -1, 1 },
		{ 1, 2 },
		{ -2, 3 },
		{ INT64_MAX, UINT64_MAX - 1 },
		{ INT64_MIN, UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_true(zigzag_encode(cases[i].number) == cases[i].code);
		assert_true(zigzag_decode(cases[i].code) == cases[i].number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_their_known_bytes),
		cmocka_unit_test(padded_numbers_are_read),
		cmocka_unit_test(cut_and_overlong_numbers_are_refused),
		cmocka_unit_test(small_numbers_of_both_signs_become_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
