#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/command/profile_question.h"

#define NOW (INT64_C(1767225600) * NS_PER_S) /* 2026-01-01T00:00:00Z */

static void a_query_is_a_type_and_a_selector(void **state)
{
	static const struct {
		const char *query;
		const char *type;
		const char *selector;
	} cases[] = {
		{ "a:b:c:d:e{x=\"y\"}", "a:b:c:d:e", "{x=\"y\"}" },
		{ " a:b:c:d:e {} ", "a:b:c:d:e", "{}" },
		{ "a:b:c:d:e", "a:b:c:d:e", "{}" },
		{ "{x=\"{\"}", "", "{x=\"{\"}" },
		{ "", "", "{}" },
		{ NULL, "", "{}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct profile_question question = { 0 };
		struct error err = { 0 };

		assert_int_equal(question_parse(cases[i].query, &question, &err), 0);
		assert_true(str_equals(question.type, cases[i].type));
		assert_true(str_equals(question.selector, cases[i].selector));
	}
}

static void a_selector_without_its_end_is_refused(void **state)
{
	struct profile_question question;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(question_parse("a:b:c:d:e{x=\"y\"", &question, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

static void times_are_those_of_queries(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} cases[] = {
		{ "now", 1767225600 },      { "now-1h", 1767222000 },
		{ "-5m", 1767225300 },      { "1767000000", 1767000000 },
		{ "20251231", 1767139200 }, { "2025-12-31T23:00:00Z", 1767222000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct error err = { 0 };
		int64_t time = 0;

		assert_int_equal(question_time(cases[i].text, NOW, &time, &err), 0);
		assert_int_equal(time, cases[i].seconds * NS_PER_S);
	}
}

static void a_time_that_is_none_is_refused(void **state)
{
	static const char *const texts[] = { "yesterday", "", "  ", "noon-1h" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct error err = { 0 };
		int64_t time = 0;

		assert_int_equal(question_time(texts[i], NOW, &time, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void durations_and_counts_are_checked(void **state)
{
	struct error err = { 0 };
	int64_t duration = 0;
	size_t count = 0;

	(void)state;
	assert_int_equal(question_duration("5m", &duration, &err), 0);
	assert_int_equal(duration, 300 * NS_PER_S);
	assert_int_equal(question_duration("0", &duration, &err), -1);
	assert_int_equal(question_duration("five", &duration, &err), -1);
	assert_int_equal(question_count("30", &count, &err), 0);
	assert_int_equal(count, 30);
	assert_int_equal(question_count("-1", &count, &err), -1);
	assert_int_equal(question_count("", &count, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_is_a_type_and_a_selector),
		cmocka_unit_test(a_selector_without_its_end_is_refused),
		cmocka_unit_test(times_are_those_of_queries),
		cmocka_unit_test(a_time_that_is_none_is_refused),
		cmocka_unit_test(durations_and_counts_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
