#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/regex.h"

static void a_pattern_matches_the_whole_text(void **state)
{
	static const struct {
		struct str pattern;
		struct str text;
		bool matches;
	} cases[] = {
		{ STR("foo"), STR("foo"), true },
		{ STR("foo"), STR("foobar"), false },
		{ STR("foo"), STR("xfoo"), false },
		{ STR("foo|bar"), STR("bar"), true },
		{ STR("foo|bar"), STR("foox"), false },
		{ STR("foo.*"), STR("foobar"), true },
		{ STR(".*"), STR("a\nb"), true }, /* a dot is any character, newlines too */
		{ STR(".+"), STR(""), false },
		{ STR(""), STR(""), true },
		{ STR(""), STR("x"), false },
		{ STR("(?i)foo|bar"), STR("BAR"), true },
		{ STR("^foo$"), STR("foo"), true },
		{ STR("a\\x00b"), STR("a\0b"), true },
		{ STR("a.b"),
		  STR("a\xc3\xa4"
		      "b"),
		  true },                            /* one character, two bytes */
		{ STR("[^x]"), STR("\xff"), false }, /* no character at all */
		{ STR("\\d{3}"), STR("123"), true },
		{ STR("\\pL+"), STR("\xc3\xa4\xc3\xb6"), true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(regex_freep) struct regex *regex = NULL;
		struct error err = { 0 };

		assert_int_equal(regex_compile(cases[i].pattern, &regex, &err), 0);
		if (regex_matches(regex, cases[i].text) != cases[i].matches)
			fail_msg("%.*s", STR_ARGS(cases[i].pattern));
	}
}

static void bad_patterns_are_refused_with_a_reason(void **state)
{
	static const struct str cases[] = {
		STR("("),
		STR(")"),
		STR("a)(b"),
		STR("["),
		STR("*a"),
		STR("a**"),
		STR("(?=x)"),
		STR("(a)\\1"),
		STR("a{1001}"),
		STR("\xff"),
		STR("\\"),
		STR("(?<n>a)(?<"),
		STR("((a{100}){100}){100}"),
		STR("[z-a]"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct regex *regex = NULL;
		struct error err = { 0 };

		if (regex_compile(cases[i], &regex, &err) != -1)
			fail_msg("accepted: %.*s", STR_ARGS(cases[i]));
		assert_int_equal(err.code, ERROR_INVALID);
		assert_null(regex);
		assert_true(strlen(err.message) > strlen("bad regular expression: "));
	}
}

static void a_pattern_that_is_too_long_is_refused(void **state)
{
	static char pattern[REGEX_PATTERN_MAX + 1];
	struct regex *regex = NULL;
	struct error err = { 0 };

	(void)state;
	memset(pattern, 'a', sizeof(pattern));
	assert_int_equal(regex_compile(str_make(pattern, sizeof(pattern)), &regex, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_int_equal(regex_compile(str_make(pattern, sizeof(pattern) - 1), &regex, &err), 0);
	assert_true(regex_matches(regex, str_make(pattern, sizeof(pattern) - 1)));
	assert_false(regex_matches(regex, STR("a")));
	regex_free(regex);
}

/* Patterns that take a backtracking engine longer than anybody waits. */
static void no_pattern_takes_long(void **state)
{
	static const char *const patterns[] = { "(a+)+[bc]", "(a|a)*[bc]", "(.*)*(.*)*x",
		                                "(x+x+)+y", "a?a?a?a?a?a?a?a?a?a?aaaaaaaaaab" };
	static char text[10000];
	const int64_t start_ns = clock_mono_ns();

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++) {
		CLEANUP(regex_freep) struct regex *regex = NULL;
		struct error err = { 0 };

		assert_int_equal(regex_compile(str_of(patterns[i]), &regex, &err), 0);
		assert_false(regex_matches(regex, str_make(text, sizeof(text))));
	}
	assert_true(clock_mono_ns() - start_ns < 10 * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_matches_the_whole_text),
		cmocka_unit_test(bad_patterns_are_refused_with_a_reason),
		cmocka_unit_test(a_pattern_that_is_too_long_is_refused),
		cmocka_unit_test(no_pattern_takes_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
