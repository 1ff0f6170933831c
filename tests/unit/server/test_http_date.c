#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "server/http/http_date.h"

/* The example of RFC 9110, and others by GNU date. */
static void dates_are_those_of_rfc_9110(void **state)
{
	static const struct {
		int64_t unix_s;
		const char *text;
	} cases[] = {
		{ 784111777, "Sun, 06 Nov 1994 08:49:37 GMT" },
		{ 0, "Thu, 01 Jan 1970 00:00:00 GMT" },
		{ 1709210096, "Thu, 29 Feb 2024 12:34:56 GMT" },
		{ 4102444799, "Thu, 31 Dec 2099 23:59:59 GMT" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char text[HTTP_DATE_LENGTH + 1];

		http_date_format(cases[i].unix_s * NS_PER_S + 999, text);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(dates_are_those_of_rfc_9110) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
