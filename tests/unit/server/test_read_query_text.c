#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/query/read_query_text.h"

#define HOUR (3600 * NS_PER_S)

static void durations_are_printed_as_go_does(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 48 * HOUR, "48h0m0s" },   { HOUR + 60 * NS_PER_S, "1h1m0s" },
		{ 90 * NS_PER_S, "1m30s" }, { 1500 * NS_PER_MS, "1.5s" },
		{ 20 * NS_PER_MS, "20ms" }, { 24 * HOUR + 5 * NS_PER_MS, "24h0m0.005s" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[READ_QUERY_DURATION_SIZE];

		read_query_duration_format(cases[i].ns, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void limits_are_printed_as_prometheus_does(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 24 * HOUR, "1d" },
		{ 7 * 24 * HOUR, "1w" },
		{ 36 * HOUR, "36h" },
		{ 90 * NS_PER_S, "1m30s" },
		{ 20 * NS_PER_MS, "20ms" },
		{ 0, "0s" },
		{ HOUR + 1800 * NS_PER_S, "1h30m" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[READ_QUERY_DURATION_SIZE];

		read_query_limit_format(cases[i].ns, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void aliases_work_in_both_directions(void **state)
{
	static const struct {
		const char *list;
		const char *id;
		const char *alias;
	} cases[] = {
		{ "a:b=c:d", "a:b", "c:d" },
		{ "a:b=c:d", "c:d", "a:b" },
		{ "x=y, a = b ,c=d", "a", "b" },
		{ "x=y, a = b ,c=d", "d", "c" },
		{ "a=b,a=c", "a", "b" },
		{ "a", "a", NULL },
		{ "", "a", NULL },
		{ "a=b", "aa", NULL },
		{ ",,=,", "a", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str alias = STR("untouched");
		const bool found =
			read_query_alias_of(str_of(cases[i].list), str_of(cases[i].id), &alias);

		assert_int_equal(found, cases[i].alias != NULL);
		assert_true(str_equals(alias, cases[i].alias ? cases[i].alias : "untouched"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_printed_as_go_does),
		cmocka_unit_test(limits_are_printed_as_prometheus_does),
		cmocka_unit_test(aliases_work_in_both_directions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
