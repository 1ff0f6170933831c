#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"

static void order_is_that_of_unsigned_bytes(void **state)
{
	(void)state;
	assert_true(str_compare(STR("a"), STR("b")) < 0);
	assert_true(str_compare(STR("a"), STR("ab")) < 0);
	assert_true(str_compare(STR("\x7f"), STR("\x80")) < 0);
	assert_true(str_compare(STR("a\0b"), STR("a\0a")) > 0);
	assert_int_equal(str_compare(STR(""), (struct str){ NULL, 0 }), 0);
	assert_true(str_equal(STR(""), (struct str){ NULL, 0 }));
	assert_false(str_equal(STR("a\0b"), STR("a\0c")));
}

static void beginnings_and_ends(void **state)
{
	(void)state;
	assert_true(str_starts_with(STR("abc"), STR("ab")));
	assert_true(str_starts_with(STR("abc"), STR("")));
	assert_false(str_starts_with(STR("ab"), STR("abc")));
	assert_true(str_ends_with(STR("abc"), STR("bc")));
	assert_false(str_ends_with(STR("bc"), STR("abc")));
	assert_true(str_equals(str_skip(STR("abc"), 1), "bc"));
	assert_true(str_equals(str_skip(STR("abc"), 9), ""));
	assert_null(str_skip((struct str){ NULL, 0 }, 1).data);
	assert_true(str_equals(str_first(STR("abc"), 2), "ab"));
	assert_true(str_equals(str_first(STR("abc"), 9), "abc"));
}

static void places_are_found_across_nul(void **state)
{
	(void)state;
	assert_int_equal(str_index(STR("a\0b.c.d"), '.'), 3);
	assert_int_equal(str_last_index(STR("a\0b.c.d"), '.'), 5);
	assert_int_equal(str_index(STR("abc"), 'x'), -1);
	assert_int_equal(str_index((struct str){ NULL, 0 }, 'x'), -1);
	assert_int_equal(str_last_index((struct str){ NULL, 0 }, 'x'), -1);
	assert_int_equal(str_find(STR("a\0needle"), STR("needle")), 2);
	assert_int_equal(str_find(STR("need"), STR("needle")), -1);
	assert_int_equal(str_find(STR("need"), STR("")), 0);
	assert_int_equal(str_find((struct str){ NULL, 0 }, STR("x")), -1);
}

static void trimming_takes_blanks_at_both_ends(void **state)
{
	(void)state;
	assert_true(str_equals(str_trim(STR(" \t\r\n\v\fa b ")), "a b"));
	assert_true(str_equals(str_trim(STR("   ")), ""));
	assert_true(str_equals(str_trim((struct str){ NULL, 0 }), ""));
}

static void letters_count_alike_in_both_cases(void **state)
{
	(void)state;
	assert_true(str_equal_ignoring_case(STR("GZip"), STR("gzip")));
	assert_false(str_equal_ignoring_case(STR("gzip"), STR("gzi")));
	assert_true(str_equal_ignoring_case(STR(""), (struct str){ NULL, 0 }));
}

static void splitting_gives_every_part_once(void **state)
{
	struct str rest = STR("a,,b,");
	static const char *const parts[] = { "a", "", "b", "" };
	struct str part;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
		assert_true(str_split(&rest, ',', &part));
		assert_true(str_equals(part, parts[i]));
	}
	assert_false(str_split(&rest, ',', &part));
	rest = STR("");
	assert_true(str_split(&rest, ',', &part));
	assert_int_equal(part.length, 0);
	assert_false(str_split(&rest, ',', &part));
}

static void unsigned_numbers_are_digits_and_nothing_else(void **state)
{
	static const struct {
		struct str text;
		uint64_t max;
		bool good;
		uint64_t number;
	} cases[] = {
		{ STR("0"), UINT64_MAX, true, 0 },
		{ STR("007"), UINT64_MAX, true, 7 },
		{ STR("18446744073709551615"), UINT64_MAX, true, UINT64_MAX },
		{ STR("18446744073709551616"), UINT64_MAX, false, 0 },
		{ STR("99999999999999999999999"), UINT64_MAX, false, 0 },
		{ STR("65535"), 65535, true, 65535 },
		{ STR("65536"), 65535, false, 0 },
		{ STR("5"), 4, false, 0 },
		{ STR("0"), 0, true, 0 },
		{ STR(""), UINT64_MAX, false, 0 },
		{ STR("+1"), UINT64_MAX, false, 0 },
		{ STR("-1"), UINT64_MAX, false, 0 },
		{ STR(" 1"), UINT64_MAX, false, 0 },
		{ STR("1 "), UINT64_MAX, false, 0 },
		{ STR("1\0"), UINT64_MAX, false, 0 },
		{ STR("0x1"), UINT64_MAX, false, 0 },
		{ STR("\xb1"), UINT64_MAX, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint64_t number = 77;

		assert_int_equal(str_to_u64(cases[i].text, cases[i].max, &number), cases[i].good);
		assert_int_equal(number, cases[i].good ? cases[i].number : 77);
	}
}

static void signed_numbers_reach_both_ends(void **state)
{
	static const struct {
		struct str text;
		bool good;
		int64_t number;
	} cases[] = {
		{ STR("-9223372036854775808"), true, INT64_MIN },
		{ STR("9223372036854775807"), true, INT64_MAX },
		{ STR("+9223372036854775807"), true, INT64_MAX },
		{ STR("9223372036854775808"), false, 0 },
		{ STR("-9223372036854775809"), false, 0 },
		{ STR("-0"), true, 0 },
		{ STR("-"), false, 0 },
		{ STR("+"), false, 0 },
		{ STR("--1"), false, 0 },
		{ STR(""), false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		int64_t number = 77;

		assert_int_equal(str_to_i64(cases[i].text, &number), cases[i].good);
		assert_true(number == (cases[i].good ? cases[i].number : 77));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_that_of_unsigned_bytes),
		cmocka_unit_test(beginnings_and_ends),
		cmocka_unit_test(places_are_found_across_nul),
		cmocka_unit_test(trimming_takes_blanks_at_both_ends),
		cmocka_unit_test(letters_count_alike_in_both_cases),
		cmocka_unit_test(splitting_gives_every_part_once),
		cmocka_unit_test(unsigned_numbers_are_digits_and_nothing_else),
		cmocka_unit_test(signed_numbers_reach_both_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
