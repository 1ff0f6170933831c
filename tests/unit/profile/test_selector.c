#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/selector.h"

#define ARENA_BYTES ((size_t)4 << 20)

static struct label labels_of_series[] = {
	{ { "__name__", 8 }, { "process_cpu", 11 } },
	{ { "__profile_type__", 16 }, { "process_cpu:cpu:nanoseconds:cpu:nanoseconds", 43 } },
	{ { "esc", 3 }, { "a\"b\\c\nd", 7 } },
	{ { "k8s.pod", 7 }, { "p1", 2 } },
	{ { "nul", 3 }, { "a\0b", 3 } },
	{ { "region", 6 }, { "us-east-1", 9 } },
	{ { "sum", 3 }, { "1", 1 } },
	{ { "uni", 3 }, { "\xc3\xa4\xc3\x9f\xe6\xbc\xa2", 7 } },
};
static const struct label_set series = { labels_of_series, ARRAY_LENGTH(labels_of_series) };

/* 1: matches the series above, 0: does not, -1: does not parse (the error is in *err). */
static int try(struct str text, struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct selector selector;
	int matches = -1;

	selector_init(&selector, arena);
	if (selector_parse(&selector, text, err) == 0)
		matches = selector_matches(&selector, &series);
	else
		assert_int_equal(selector.count, 0);
	selector_fini(&selector);
	return matches;
}

static void selectors_match_as_prometheus_does(void **state)
{
	static const struct {
		const char *text;
		int matches;
	} cases[] = {
		{ "{}", 1 },
		{ " {\t}\r\n ", 1 },
		/* equality; an absent label counts as empty */
		{ "{region=\"us-east-1\"}", 1 },
		{ "{region=\"us-east\"}", 0 },
		{ "{region=\"US-EAST-1\"}", 0 },
		{ "{region=\"\"}", 0 },
		{ "{region!=\"\"}", 1 },
		{ "{none=\"\"}", 1 },
		{ "{none!=\"\"}", 0 },
		{ "{none!=\"x\"}", 1 },
		{ "{region!=\"us-east-1\"}", 0 },
		/* regular expressions are anchored at both ends */
		{ "{region=~\"us\"}", 0 },
		{ "{region=~\"us.*\"}", 1 },
		{ "{region=~\"^us-east-1$\"}", 1 },
		{ "{region=~\"eu|us-east-1\"}", 1 },
		{ "{region=~\"(?i)US-EAST-1\"}", 1 },
		{ "{region=~\"us-east-\\\\d\"}", 1 },
		{ "{region=~`us-east-\\d`}", 1 },
		{ "{region!~\"us.*\"}", 0 },
		{ "{none=~\".*\"}", 1 },
		{ "{none=~\".+\"}", 0 },
		{ "{none!~\".+\"}", 1 },
		{ "{none=~\"\"}", 1 },
		{ "{esc=~\"a.b.c.d\"}", 1 },
		{ "{uni=~\"\\\\p{L}+\"}", 1 },
		{ "{uni=~\"\xc3\xa4..\"}", 1 },
		/* strings */
		{ "{esc=\"a\\\"b\\\\c\\nd\"}", 1 },
		{ "{esc='a\"b\\\\c\\nd'}", 1 },
		{ "{esc=`a\"b\\c\nd`}", 1 },
		{ "{uni=\"\\u00e4\\u00df\\U00006f22\"}", 1 },
		{ "{uni=\"\\xc3\\xa4\\303\\237\\u6f22\"}", 1 },
		{ "{uni='\xc3\xa4\xc3\x9f\xe6\xbc\xa2'}", 1 },
		{ "{nul=\"a\\x00b\"}", 1 },
		{ "{nul=\"a\\000b\"}", 1 },
		{ "{nul=\"a\"}", 0 },
		{ "{esc!=\"\\a\\b\\f\\r\\t\\v\"}", 1 },
		{ "{esc!='it\\'s'}", 1 },
		/* layout */
		{ "{region=\"us-east-1\",}", 1 },
		{ "{ region = \"us-east-1\" , sum=\"1\" }", 1 },
		{ "{region=\"us-east-1\"}# comment", 1 },
		{ "#c\n{region=\"us-east-1\" # why\n}#", 1 },
		/* several matchers, also on one label: all must hold */
		{ "{region=~\"us.*\",region!=\"us-east-1\"}", 0 },
		{ "{region=~\"us.*\",region=~\".*-1\"}", 1 },
		/* names: keywords, quoted ones, metric names */
		{ "{sum=\"1\",by=\"\",on=\"\",offset=\"\",nan=\"\",inf=\"\"}", 1 },
		{ "{\"k8s.pod\"=\"p1\"}", 1 },
		{ "{'k8s.pod'!=\"p1\"}", 0 },
		{ "{`k8s.pod`=~\"p.\"}", 1 },
		{ "process_cpu{}", 1 },
		{ "process_cpu", 1 },
		{ "process_cpu {region=~\"us.*\"}", 1 },
		{ "memory{}", 0 },
		{ "sum{}", 0 },
		{ "{\"process_cpu\"}", 1 },
		{ "{\"process_cpu\",region=~\"us.*\"}", 1 },
		{ "{region=~\"us.*\",'memory',}", 0 },
		{ "{__name__=~\"process.*\"}", 1 },
		{ "{__name__!=\"process_cpu\"}", 0 },
		/* a profile type as the name */
		{ "process_cpu:cpu:nanoseconds:cpu:nanoseconds{}", 1 },
		{ "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{region!=\"\"}", 1 },
		{ "{__name__=\"process_cpu:cpu:nanoseconds:cpu:nanoseconds\"}", 1 },
		{ "{\"process_cpu:cpu:nanoseconds:cpu:nanoseconds\"}", 1 },
		{ "process_cpu:samples:count:cpu:nanoseconds{}", 0 },
		{ "process_cpu:cpu:nanoseconds:cpu{}", 0 },
		{ "a:b:c:d:e:f:g{}", 0 },
		{ "{__name__!=\"process_cpu:cpu:nanoseconds:cpu:nanoseconds\"}", 1 },
		{ "{__profile_type__=\"process_cpu:cpu:nanoseconds:cpu:nanoseconds\"}", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct error err = { 0 };
		const int matches = try(str_of(cases[i].text), &err);

		if (matches != cases[i].matches)
			fail_msg("%s: %d %s", cases[i].text, matches, err.message);
	}
}

static void malformed_selectors_are_refused_with_their_place(void **state)
{
	static const struct {
		const char *text;
		const char *place;
	} cases[] = {
		{ "", "1:1: parse error: unexpected end of input" },
		{ "   ", "1:4: parse error: unexpected end of input" },
		{ "{", "1:2: parse error: unexpected end of input" },
		{ "}", "1:1: parse error: " },
		{ "service_name=\"x\"", "1:13: parse error: " },
		{ "{a=\"b\"", "1:7: parse error: unexpected end of input" },
		{ "{a=b}",
		  "1:4: parse error: unexpected \"b\" in label matching, expected string" },
		{ "{a=\"b}", "1:4: parse error: unterminated quoted string" },
		{ "{a=`b}", "1:4: parse error: unterminated raw string" },
		{ "{a=\"b\nc\"}", "1:4: parse error: unterminated quoted string" },
		{ "{a==b}", "1:4: parse error: " },
		{ "{a=\"b\" c=\"d\"}", "1:8: parse error: " },
		{ "{a=\"b\",,c=\"d\"}", "1:8: parse error: " },
		{ "{,a=\"b\"}", "1:2: parse error: " },
		{ "{,}", "1:2: parse error: " },
		{ "{a}", "1:3: parse error: " },
		{ "{a=1}", "1:4: parse error: " },
		{ "{9a=\"x\"}", "1:2: parse error: " },
		{ "{a-b=\"x\"}", "1:3: parse error: " },
		{ "{a.b=\"x\"}", "1:3: parse error: " },
		{ "{a:b=\"x\"}", "1:2: parse error: " },
		{ "{a<\"b\"}", "1:3: parse error: " },
		{ "{a!\"b\"}", "1:3: parse error: " },
		{ "{=\"b\"}", "1:2: parse error: " },
		{ "{\n  a=b}", "2:5: parse error: " },
		/* nothing behind, nothing around */
		{ "{a=\"b\"}[5m]", "1:8: parse error: " },
		{ "{a=\"b\"} offset 5m", "1:9: parse error: " },
		{ "sum({a=\"b\"})", "1:4: parse error: " },
		{ "({a=\"b\"})", "1:1: parse error: " },
		{ "{a=\"b\"} and {c=\"d\"}", "1:9: parse error: " },
		{ "{a=\"b\"} == 1", "1:9: parse error: " },
		{ "{a=\"b\"}{c=\"d\"}", "1:8: parse error: " },
		{ "a b{}", "1:3: parse error: " },
		/* one metric name */
		{ "a{\"b\"}", "1:3: parse error: metric name must not be set twice" },
		{ "{\"a\",\"b\"}", "1:6: parse error: metric name must not be set twice" },
		/* escapes */
		{ "{a=\"\\q\"}", "1:5: parse error: unknown escape sequence" },
		{ "{a=\"\\'\"}", "1:5: parse error: unknown escape sequence" },
		{ "{a='\\\"'}", "1:5: parse error: unknown escape sequence" },
		{ "{a=\"\\x4\"}", "1:7: parse error: illegal character in escape sequence" },
		{ "{a=\"\\400\"}", "1:6: parse error: escape sequence is an invalid Unicode" },
		{ "{a=\"\\ud800\"}", "1:7: parse error: escape sequence is an invalid Unicode" },
		{ "{a=\"\\U00110000\"}", "1:7: parse error: escape sequence is an invalid" },
		{ "{a=\"\\", "1:4: parse error: unterminated quoted string" },
		{ "{a=\"\xff\"}", "1:4: parse error: invalid UTF-8 rune" },
		{ "\xc3\xa4{}", "1:1: parse error: " },
		/* patterns that RE2 refuses */
		{ "{a=~\"(\"}", "1:2: parse error: " },
		{ "{a=~\"(?=x)\"}", "1:2: parse error: " },
		{ "{a=\"b\",c=~\"(a)\\\\1\"}", "1:8: parse error: " },
		{ "{a=~\"a{2000}\"}", "1:2: parse error: " },
		{ "{a!~\"*a\"}", "1:2: parse error: " },
		{ "{a=~\"[z-a]\"}", "1:2: parse error: " },
		{ "{a=~\"a**\"}", "1:2: parse error: " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct error err = { 0 };

		if (try(str_of(cases[i].text), &err) != -1 || err.code != ERROR_INVALID ||
		    !str_starts_with(str_of(err.message), str_of(cases[i].place)))
			fail_msg("%s: %s", cases[i].text, err.message);
	}
}

static void several_texts_must_all_hold(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct selector selector;
	struct error err = { 0 };

	(void)state;
	selector_init(&selector, arena);
	assert_int_equal(selector_parse(&selector, STR("{region=~\"us.*\"}"), &err), 0);
	assert_int_equal(selector_parse(&selector, STR("{}"), &err), 0);
	assert_int_equal(selector_parse(&selector, STR("{sum=~\"1\"}"), &err), 0);
	assert_int_equal(selector.count, 2);
	assert_true(selector_matches(&selector, &series));
	assert_int_equal(selector_parse(&selector, STR("{sum=~\"1\",sum=~\"(\"}"), &err), -1);
	assert_int_equal(selector.count, 2);
	assert_int_equal(selector_add_regex(&selector, STR("region"), STR("us.*|eu"), &err), 0);
	assert_true(selector_matches(&selector, &series));
	assert_int_equal(selector_add_regex(&selector, STR("region"), STR("("), &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(selector_add_equal(&selector, STR("sum"), STR("2"), &err), 0);
	assert_false(selector_matches(&selector, &series));
	selector_fini(&selector);
	selector_fini(&selector);
}

static void the_name_is_taken_as_it_was_written(void **state)
{
	static const struct {
		const char *text;
		const char *value; /* NULL: there is none */
		enum matcher_op op;
		size_t left;
	} cases[] = {
		{ "a:b:c:d:e{x=\"1\"}", "a:b:c:d:e", MATCH_EQUAL, 1 },
		{ "a:b:c:d:e:delta{x=\"1\"}", "a:b:c:d:e:delta", MATCH_EQUAL, 1 },
		{ "{x=\"1\",__name__=\"a:b:c:d:e\",y=\"2\"}", "a:b:c:d:e", MATCH_EQUAL, 2 },
		{ "{__name__=~\"a:b:c:d:e\"}", "a:b:c:d:e", MATCH_REGEX, 0 },
		{ "foo{}", "foo", MATCH_EQUAL, 0 },
		{ "{x=\"1\"}", NULL, MATCH_EQUAL, 1 },
		{ "{__profile_type__=\"a:b:c:d:e\"}", NULL, MATCH_EQUAL, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct selector selector;
		struct matcher matcher = { .name = STR("untouched") };
		struct error err = { 0 };

		selector_init(&selector, arena);
		assert_int_equal(selector_parse(&selector, str_of(cases[i].text), &err), 0);
		assert_int_equal(selector_take(&selector, STR("__name__"), &matcher),
		                 cases[i].value != NULL);
		if (cases[i].value) {
			assert_true(str_equals(matcher.name, "__name__"));
			assert_true(str_equals(matcher.value, cases[i].value));
			assert_int_equal(matcher.op, cases[i].op);
			assert_null(matcher.regex);
		} else {
			assert_true(str_equals(matcher.name, "untouched"));
		}
		assert_int_equal(selector.count, cases[i].left);
		selector_fini(&selector);
	}
}

static void the_caller_s_text_may_go_away(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct selector selector;
	struct error err = { 0 };
	char text[] = "process_cpu{region=\"us-east-1\"}";

	(void)state;
	selector_init(&selector, arena);
	assert_int_equal(selector_parse(&selector, STR("{}"), &err), 0);
	assert_int_equal(selector_parse(&selector, str_of(text), &err), 0);
	memset(text, 'x', sizeof(text));
	assert_true(selector_matches(&selector, &series));
	selector_fini(&selector);
}

static void limits_are_errors_of_the_caller(void **state)
{
	struct strbuf text;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&text, 1 << 20);
	strbuf_add_byte(&text, '{');
	for (int i = 0; i <= SELECTOR_MATCHERS_MAX; i++)
		strbuf_add_text(&text, "a=\"\",");
	strbuf_add_byte(&text, '}');
	assert_int_equal(try(strbuf_view(&text), &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);

	strbuf_reset(&text);
	strbuf_add_text(&text, "{a=\"");
	while (text.length <= SELECTOR_TEXT_MAX)
		strbuf_add_byte(&text, 'x');
	strbuf_add_text(&text, "\"}");
	assert_int_equal(try(strbuf_view(&text), &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);

	strbuf_reset(&text);
	strbuf_add_text(&text, "{a=~\"");
	while (text.length <= REGEX_PATTERN_MAX + 8)
		strbuf_add_byte(&text, 'x');
	strbuf_add_text(&text, "\"}");
	assert_int_equal(try(strbuf_view(&text), &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	strbuf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selectors_match_as_prometheus_does),
		cmocka_unit_test(malformed_selectors_are_refused_with_their_place),
		cmocka_unit_test(several_texts_must_all_hold),
		cmocka_unit_test(the_name_is_taken_as_it_was_written),
		cmocka_unit_test(the_caller_s_text_may_go_away),
		cmocka_unit_test(limits_are_errors_of_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
