#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/command/quantity.h"

static void a_unit_decides_how_a_number_is_written(void **state)
{
	static const struct {
		int64_t value;
		const char *unit;
		const char *text;
	} cases[] = {
		{ 0, "bytes", "0 B" },
		{ 1023, "bytes", "1023 B" },
		{ 1024, "bytes", "1.00 KiB" },
		{ 1536, "bytes", "1.50 KiB" },
		{ INT64_C(10737418240), "bytes", "10.0 GiB" },
		{ INT64_C(148305471), "bytes", "141 MiB" },
		{ -1536, "bytes", "-1.50 KiB" },
		{ INT64_MAX, "bytes", "8192 PiB" },
		{ INT64_MIN, "bytes", "-8192 PiB" },
		{ 999, "nanoseconds", "999 ns" },
		{ 1500, "nanoseconds", "1.50 us" },
		{ INT64_C(2240000000), "nanoseconds", "2.24 s" },
		{ INT64_C(90000000000), "nanoseconds", "1.50 min" },
		{ INT64_C(5400000000000), "nanoseconds", "1.50 h" },
		{ 1500, "microseconds", "1.50 ms" },
		{ 1500, "milliseconds", "1.50 s" },
		{ 90, "seconds", "1.50 min" },
		{ 999, "count", "999" },
		{ 1000, "count", "1,000" },
		{ 1234567, "", "1,234,567" },
		{ -1234567, "goroutines", "-1,234,567" },
		{ INT64_MIN, "count", "-9,223,372,036,854,775,808" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char text[QUANTITY_SIZE];

		quantity_format(cases[i].value, str_of(cases[i].unit), text);
		assert_string_equal(text, cases[i].text);
	}
}

static void a_change_always_has_its_sign(void **state)
{
	char text[QUANTITY_SIZE];

	(void)state;
	quantity_format_change(1536, STR("bytes"), text);
	assert_string_equal(text, "+1.50 KiB");
	quantity_format_change(-2, STR("count"), text);
	assert_string_equal(text, "-2");
	quantity_format_change(0, STR("count"), text);
	assert_string_equal(text, "0");
}

static void a_share_of_nothing_is_no_number(void **state)
{
	char text[QUANTITY_SIZE];

	(void)state;
	quantity_format_percent(1, 3, text);
	assert_string_equal(text, "33.3%");
	quantity_format_percent(-1, 4, text);
	assert_string_equal(text, "-25.0%");
	quantity_format_percent(1, 0, text);
	assert_string_equal(text, "-");
	quantity_format_percent(INT64_MIN, INT64_MAX, text);
	assert_string_equal(text, "-100.0%");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_decides_how_a_number_is_written),
		cmocka_unit_test(a_change_always_has_its_sign),
		cmocka_unit_test(a_share_of_nothing_is_no_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
