#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/time_syntax.h"

#define NOW_NS INT64_C(1767225600123456789) /* 2026-01-01 00:00:00.123456789 UTC */
#define HOUR   (3600 * NS_PER_S)
#define DAY    (24 * HOUR)

struct time_case {
	const char *text;
	int64_t unix_ns;
};

static void check(const struct time_case *cases, size_t count, unsigned flags)
{
	for (size_t i = 0; i < count; i++) {
		const int64_t got = time_syntax_parse(str_of(cases[i].text), NOW_NS, flags);

		if (got != cases[i].unix_ns)
			print_error("\"%s\": %lld\n", cases[i].text, (long long)got);
		assert_true(got == cases[i].unix_ns);
	}
}

static void numbers_are_told_by_their_length(void **state)
{
	static const struct time_case cases[] = {
		{ "1767225600", INT64_C(1767225600) * NS_PER_S },
		{ "1767225600000", INT64_C(1767225600) * NS_PER_S },
		{ "1767225600000000", INT64_C(1767225600) * NS_PER_S },
		{ "1767225600000000001", INT64_C(1767225600) * NS_PER_S + 1 },
		{ "0", 0 },
		{ "123", 123 * NS_PER_S },
		{ "1_767_225_600", INT64_C(1767225600) * NS_PER_S },
		{ " 1,767,225,600\n", INT64_C(1767225600) * NS_PER_S },
		{ "20260101", INT64_C(1767225600) * NS_PER_S },
		{ "2026_01_01", INT64_C(1767225600) * NS_PER_S },
		{ "20200101", INT64_C(1577836800) * NS_PER_S },
		{ "20240229", INT64_C(1709164800) * NS_PER_S },
		{ "20230229", INT64_C(20230229) * NS_PER_S }, /* no such day */
		{ "20261399", INT64_C(20261399) * NS_PER_S },
		{ "19000101", INT64_C(19000101) * NS_PER_S }, /* not after 1900 */
		{ "19691231", -DAY },
	};

	(void)state;
	check(cases, ARRAY_LENGTH(cases), 0);
}

static void numbers_past_int64_are_clamped(void **state)
{
	static const struct time_case cases[] = {
		{ "157783680000", INT64_MAX },
		{ "99999999999", INT64_MAX },
		{ "9999999999999", INT64_MAX },
		{ "9999999999999999999", INT64_MAX },
		{ "12345678901234567890", INT64_MAX },
		{ "99999999999999999999999999999999999999999999999999", INT64_MAX },
		{ "now-99999999999999999999y", INT64_C(-7456146436731319018) },
	};

	(void)state;
	check(cases, ARRAY_LENGTH(cases), 0);
}

static void anything_else_is_now_and_an_offset(void **state)
{
	static const struct time_case cases[] = {
		{ "", NOW_NS },
		{ "  ", NOW_NS },
		{ "now", NOW_NS },
		{ "today", NOW_NS },
		{ "abc", NOW_NS },
		{ "1h", NOW_NS },
		{ "now-1h", NOW_NS - HOUR },
		{ "now - 1h", NOW_NS - HOUR },
		{ "-1h", NOW_NS - HOUR },
		{ "foo-1h", NOW_NS - HOUR },
		{ "now-1h30m", NOW_NS - HOUR },
		{ "now-30m5h", NOW_NS - HOUR / 2 },
		{ "now+1h", NOW_NS + HOUR },
		{ "now 1h", NOW_NS },
		{ "now-5m", NOW_NS - 300 * NS_PER_S },
		{ "now-5min", NOW_NS - 300 * NS_PER_S },
		{ "now-500ms", NOW_NS - 500 * 60 * NS_PER_S },
		{ "now-1M", NOW_NS - 30 * DAY },
		{ "now-1mon", NOW_NS - 30 * DAY },
		{ "now-2d", NOW_NS - 2 * DAY },
		{ "now-1w", NOW_NS - 7 * DAY },
		{ "now-1y", NOW_NS - 365 * DAY },
		{ "-1800s", NOW_NS - 1800 * NS_PER_S },
		{ "now-1.5h", NOW_NS },
		{ "now-1", NOW_NS },
		{ "now-h", NOW_NS },
		{ "now-1H", NOW_NS },
		{ "now-1D", NOW_NS },
		{ "-5", NOW_NS },
		{ "1e9", NOW_NS },
		{ "1577836800.5", NOW_NS },
		{ "now-1h+2d", NOW_NS + 2 * DAY }, /* the first '+' comes before any '-' */
		{ "2026-01-01", NOW_NS },
		{ "2026-01-01T00:00:00Z", NOW_NS },
	};

	(void)state;
	check(cases, ARRAY_LENGTH(cases), 0);
}

static void rfc_3339_is_read_where_asked_for(void **state)
{
	static const struct time_case cases[] = {
		{ "2026-01-01T00:00:00Z", INT64_C(1767225600) * NS_PER_S },
		{ " 2026-01-01T01:30:00+01:30 ", INT64_C(1767225600) * NS_PER_S },
		{ "2025-12-31T23:00:00-01:00", INT64_C(1767225600) * NS_PER_S },
		{ "2026-01-01T00:00:00.5Z", INT64_C(1767225600) * NS_PER_S + NS_PER_S / 2 },
		{ "2026-01-01T00:00:00.0000000019Z", INT64_C(1767225600) * NS_PER_S + 1 },
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-02-30T00:00:00Z", NOW_NS },
		{ "2026-01-01T24:00:00Z", NOW_NS },
		{ "2026-01-01T00:00:00", NOW_NS },
		{ "2026-01-01T00:00:00.Z", NOW_NS },
		{ "2026-01-01", NOW_NS },
		{ "now-1h", NOW_NS - HOUR },
		{ "9999-01-01T00:00:00Z", INT64_MAX },
	};

	(void)state;
	check(cases, ARRAY_LENGTH(cases), TIME_SYNTAX_RFC3339);
}

static void what_must_not_be_mistaken_is_read_strictly(void **state)
{
	static const struct time_case cases[] = {
		{ "now", NOW_NS },
		{ " now ", NOW_NS },
		{ "now-1h", NOW_NS - HOUR },
		{ "-1h", NOW_NS - HOUR },
		{ "now+90s", NOW_NS + 90 * NS_PER_S },
		{ "now-7d", NOW_NS - 7 * DAY },
		{ "now-1mon", NOW_NS - 30 * DAY },
		{ "2024-02-29", INT64_C(1709164800) * NS_PER_S },
		{ "2026-01-01T01:00:00+01:00", INT64_C(1767225600) * NS_PER_S },
		{ "2026-01-01T00:00:00.5Z", INT64_C(1767225600) * NS_PER_S + NS_PER_S / 2 },
		{ "0", 0 },
		{ "1767225600000", INT64_C(1767225600) * NS_PER_S },
		{ "20260101", INT64_C(1767225600) * NS_PER_S },
	};
	static const char *const others[] = {
		"",
		"  ",
		"soon",
		"nowish",
		"now-",
		"now-h",
		"now-1",
		"now-1x",
		"now-1hour",
		"now-1h30m",
		"now1h",
		"--1h",
		"7d",
		"1h",
		"2023-02-29",
		"2026-13-01",
		"2026-01-32",
		"2026-1-1",
		"2026-01-01T00:00",
		"2026-01-01T24:00:00Z",
		"2026-01-01T00:00:00",
		"2026-01-01 00:00:00",
		"1,767,225,600",
		"17672256OO",
		"0x10",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		int64_t got = 0;

		assert_true(time_syntax_read(str_of(cases[i].text), NOW_NS, &got));
		assert_true(got == cases[i].unix_ns);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		int64_t got = 7;

		if (time_syntax_read(str_of(others[i]), NOW_NS, &got))
			fail_msg("\"%s\" is taken for %lld", others[i], (long long)got);
		assert_true(got == 7);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_told_by_their_length),
		cmocka_unit_test(numbers_past_int64_are_clamped),
		cmocka_unit_test(anything_else_is_now_and_an_offset),
		cmocka_unit_test(rfc_3339_is_read_where_asked_for),
		cmocka_unit_test(what_must_not_be_mistaken_is_read_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
