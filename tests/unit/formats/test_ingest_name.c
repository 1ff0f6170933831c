#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "formats/ingest_name.h"

#define ARENA_BYTES ((size_t)1 << 20)

/* "app|name=value|..." */
static void describe(const struct ingest_name *name, struct strbuf *out)
{
	strbuf_add_str(out, name->app);
	for (size_t i = 0; i < name->labels.count; i++)
		strbuf_printf(out, "|%.*s=%.*s", STR_ARGS(name->labels.labels[i].name),
		              STR_ARGS(name->labels.labels[i].value));
}

static void names_are_read_as_the_specification_lists_them(void **state)
{
	static const struct {
		const char *text;
		const char *expected;
	} cases[] = {
		{ "foo", "foo" },
		{ "foo{}", "foo" },
		{ "foo{", "foo" },
		{ " foo { bar = 1 , baz = 2 } ", "foo|bar=1|baz=2" },
		{ "foo{a=b", "foo" },
		{ "foo{c=d,e=f", "foo|c=d" },
		{ "foo{a}", "foo" },
		{ "foo{a=b,}", "foo|a=b" },
		{ "foo{a==b}", "foo|a==b" },
		{ "foo{a=x{y}", "foo|a=x{y" },
		{ "foo{a=b}trailing", "foo|a=b" },
		{ "foo{a=b}{c=d}", "foo|a=b" },
		{ "foo{a=1,a=2}", "foo|a=2" },
		{ "foo{a=1,b=3,a=2}", "foo|a=2|b=3" },
		{ "foo{__name__=bar}", "bar" },
		{ "foo{a=}", "foo|a=" },
		{ "foo{__private__=1,__session_id__=0123456789abcdef,__delta__=true,kept=1}",
		  "foo|__session_id__=0123456789abcdef|kept=1" },
		{ "foo{q=\"quoted\"}", "foo|q=\"quoted\"" },
		{ "\t\xc2\xa0"
		  "foo\xe3\x80\x80{ \xe2\x80\x83"
		  "a = b\xc2\xa0"
		  "c\xc2\x85\v}",
		  "foo|a=b\xc2\xa0"
		  "c" },
		{ "foo{a=\xe2\x80\x8b}", "foo|a=\xe2\x80\x8b" }, /* U+200B is no white space */
		{ "foo{a= two words }", "foo|a=two words" },
		{ "foo{b=\xff}", "foo|b=\xef\xbf\xbd" },
		{ "foo{b=gr\xc3\xb6\xc3\x9f"
		  "e}",
		  "foo|b=gr\xc3\xb6\xc3\x9f"
		  "e" },
		{ "name/a_B-9.x/y.cpu", "name/a_B-9.x/y.cpu" },
		{ "foo{dotted.name=1,_under=2,n0=3}", "foo|dotted.name=1|_under=2|n0=3" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		CLEANUP(strbuf_fini) struct strbuf text;
		struct ingest_name name;
		struct error err = { 0 };

		strbuf_init(&text, 1000);
		assert_int_equal(ingest_name_parse(str_of(cases[i].text), arena, &name, &err), 0);
		describe(&name, &text);
		assert_string_equal(text.data, cases[i].expected);
	}
}

static void bad_names_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} cases[] = {
		{ "", "service name is required" },
		{ "{a=b}", "service name is required" },
		{ "  ", "service name is required" },
		{ "\xe2\x80\xa9\xc2\xa0{a=b}", "service name is required" },
		{ "foo{a,b=c}", "invalid label name: a,b: character is not allowed: ','" },
		{ "foo{=b}", "label name is required" },
		{ "foo{my-tag=1}", "invalid label name: my-tag: character is not allowed: '-'" },
		{ "foo{a b=1}", "invalid label name: a b: character is not allowed: ' '" },
		{ "my app", "invalid service name: my app: character is not allowed: ' '" },
		{ "foo:bar", "invalid service name: foo:bar: character is not allowed: ':'" },
		{ "f\xc3\xb6\xc3\xb6",
		  "invalid service name: f\xc3\xb6\xc3\xb6: character is not allowed: '\xc3\xb6'" },
		{ "f\xff",
		  "invalid service name: f\xef\xbf\xbd: character is not allowed: '\xef\xbf\xbd'" },
		{ "foo{__name__=}", "service name is required" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct ingest_name name;
		struct error err = { 0 };

		assert_int_equal(ingest_name_parse(str_of(cases[i].text), arena, &name, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_string_equal(err.message, cases[i].message);
	}
}

static void a_name_has_a_bounded_number_of_labels(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf text;
	struct ingest_name name;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&text, 100000);
	strbuf_add_text(&text, "foo{");
	for (int i = 0; i < INGEST_NAME_LABELS_MAX; i++)
		strbuf_printf(&text, "l%d=x,", i);
	strbuf_add_text(&text, "}");
	assert_int_equal(ingest_name_parse(strbuf_view(&text), arena, &name, &err), 0);
	assert_int_equal(name.labels.count, INGEST_NAME_LABELS_MAX);

	text.length--;
	strbuf_add_text(&text, "more=x}");
	assert_int_equal(ingest_name_parse(strbuf_view(&text), arena, &name, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read_as_the_specification_lists_them),
		cmocka_unit_test(bad_names_are_refused_with_the_reason),
		cmocka_unit_test(a_name_has_a_bounded_number_of_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
