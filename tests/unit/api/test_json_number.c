#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/json_number.h"

static void whole_numbers_are_read_exactly_in_every_spelling(void **state)
{
	static const struct {
		const char *text;
		int64_t number;
	} cases[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "1767225600000", 1767225600000 },
		{ "1.7672256e12", 1767225600000 },
		{ "1767225600e3", 1767225600000 },
		{ "1.0", 1 },
		{ "1500e-2", 15 },
		{ "-2.50E+1", -25 },
		{ "0e999999999999", 0 },
		{ "9223372036854775807", INT64_MAX },
		{ "-9223372036854775808", INT64_MIN },
		{ "922337203685477580.7e1", INT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t number = -1;

		assert_true(json_number_to_i64(str_of(cases[i].text), &number));
		assert_int_equal(number, cases[i].number);
	}
}

static void what_is_no_whole_number_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		" 1",
		"1 ",
		"+1",
		"01",
		"1.",
		".5",
		"1e",
		"1e+",
		"x",
		"0x1",
		"1.5",
		"15e-1",
		"1_0",
		"--1",
		"NaN",
		"9223372036854775808",
		"-9223372036854775809",
		"1e19",
		"1e99999999999999999999",
		"1\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t number = -1;

		if (json_number_to_i64(str_of(cases[i]), &number))
			fail_msg("\"%s\" was read as %lld", cases[i], (long long)number);
		assert_int_equal(number, -1);
	}
}

static void a_number_text_longer_than_any_number_is_refused(void **state)
{
	char text[1000];
	int64_t number;
	double real;

	(void)state;
	memset(text, '1', sizeof(text));
	assert_false(json_number_to_i64(str_make(text, sizeof(text)), &number));
	assert_false(json_number_to_double(str_make(text, sizeof(text)), &real));
}

static void reals_are_whole_numbers_when_they_are_exactly(void **state)
{
	int64_t number = 7;

	(void)state;
	assert_true(json_number_from_real(1.5e3, &number));
	assert_int_equal(number, 1500);
	assert_true(json_number_from_real(-0x1p63, &number));
	assert_int_equal(number, INT64_MIN);
	assert_false(json_number_from_real(0x1p63, &number));
	assert_false(json_number_from_real(0.5, &number));
	assert_false(json_number_from_real((double)__builtin_nan(""), &number));
	assert_false(json_number_from_real(__builtin_inf(), &number));
}

static void doubles_may_be_texts(void **state)
{
	double real = 0;

	(void)state;
	assert_true(json_number_to_double(STR("15"), &real));
	assert_true(real == 15);
	assert_true(json_number_to_double(STR("1.5e-3"), &real));
	assert_true(real == 1.5e-3);
	assert_true(json_number_to_double(STR("NaN"), &real));
	assert_true(real != real);
	assert_true(json_number_to_double(STR("-Infinity"), &real));
	assert_true(real == -__builtin_inf());
	assert_false(json_number_to_double(STR("x"), &real));
	assert_false(json_number_to_double(STR("nan"), &real));
	assert_false(json_number_to_double(STR("1e400"), &real));
	assert_false(json_number_to_double(STR("0x10"), &real));
	assert_false(json_number_to_double(STR(""), &real));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers_are_read_exactly_in_every_spelling),
		cmocka_unit_test(what_is_no_whole_number_is_refused),
		cmocka_unit_test(a_number_text_longer_than_any_number_is_refused),
		cmocka_unit_test(reals_are_whole_numbers_when_they_are_exactly),
		cmocka_unit_test(doubles_may_be_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
