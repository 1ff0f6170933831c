#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/decimal.h"

static void numbers_are_written_as_a_foreign_program_writes_them(void **state)
{
	static const struct {
		uint64_t bits;
		const char *text;
	} cases[] = {
#include "decimals.inc"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char text[DECIMAL_MAX];
		double number;

		memcpy(&number, &cases[i].bits, sizeof(number));
		assert_int_equal(decimal_format(number, text), strlen(cases[i].text));
		assert_string_equal(text, cases[i].text);
	}
}

static void the_examples_of_the_specification(void **state)
{
	static const struct {
		double number;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ -0.0, "-0" },
		{ 30, "30" },
		{ 0.5, "0.5" },
		{ -42, "-42" },
		{ 1e21, "1e+21" },
		{ 1e20, "100000000000000000000" },
		{ 1e-6, "0.000001" },
		{ 1e-7, "1e-7" },
		{ -1.5e300, "-1.5e+300" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char text[DECIMAL_MAX];

		(void)decimal_format(cases[i].number, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void every_number_reads_back(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char text[DECIMAL_MAX];
		double number;

		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		memcpy(&number, &random, sizeof(number));
		if (!isfinite(number))
			continue;
		(void)decimal_format(number, text);
		assert_true(strtod(text, NULL) == number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_written_as_a_foreign_program_writes_them),
		cmocka_unit_test(the_examples_of_the_specification),
		cmocka_unit_test(every_number_reads_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
