#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/url.h"

#define PAIRS_MAX 4

/* What Go's url.ParseQuery keeps. */
static void queries_are_read_as_go_reads_them(void **state)
{
	static const struct {
		struct str raw;
		size_t count;
		struct {
			struct str name;
			struct str value;
		} pairs[PAIRS_MAX];
	} cases[] = {
		{ STR(""), 0, { { { NULL, 0 }, { NULL, 0 } } } },
		{ STR("a=1&b=2"), 2, { { STR("a"), STR("1") }, { STR("b"), STR("2") } } },
		{ STR("a=1&a=2"), 2, { { STR("a"), STR("1") }, { STR("a"), STR("2") } } },
		{ STR("a"), 1, { { STR("a"), STR("") } } },
		{ STR("=x"), 1, { { STR(""), STR("x") } } },
		{ STR("&&a=1&&"), 1, { { STR("a"), STR("1") } } },
		{ STR("a=b=c"), 1, { { STR("a"), STR("b=c") } } },
		{ STR("a+b=c+d"), 1, { { STR("a b"), STR("c d") } } },
		{ STR("%41=%c3%A4%00"), 1, { { STR("A"), STR("\xc3\xa4\0") } } },
		{ STR("a=%zz&b=2"), 1, { { STR("b"), STR("2") } } },
		{ STR("a=1%&b=2"), 1, { { STR("b"), STR("2") } } },
		{ STR("a=1%4&b=2"), 1, { { STR("b"), STR("2") } } },
		{ STR("%f=1&b=2"), 1, { { STR("b"), STR("2") } } },
		{ STR("a=1;c=3&b=2"), 1, { { STR("b"), STR("2") } } },
		{ STR("a=\xff\0"), 1, { { STR("a"), STR("\xff\0") } } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
		struct url_query query;
		struct error err = { 0 };

		assert_int_equal(url_query_parse(cases[i].raw, arena, &query, &err), 0);
		assert_int_equal(query.count, cases[i].count);
		for (size_t pair = 0; pair < query.count; pair++) {
			assert_true(str_equal(query.pairs[pair].name, cases[i].pairs[pair].name));
			assert_true(str_equal(query.pairs[pair].value, cases[i].pairs[pair].value));
		}
	}
}

static void the_first_value_of_a_name_wins(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	struct url_query query;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(url_query_parse(STR("from=now-1h&from=now&until="), arena, &query, &err),
	                 0);
	assert_true(str_equals(*url_query_find(&query, "from"), "now-1h"));
	assert_true(str_equals(*url_query_find(&query, "until"), ""));
	assert_null(url_query_find(&query, "query"));
	assert_null(url_query_find(&query, "fro"));
}

static void too_many_pairs_are_refused(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	struct strbuf raw;
	struct url_query query;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&raw, 1 << 20);
	for (int i = 0; i < URL_PAIRS_MAX; i++)
		strbuf_printf(&raw, "&p%d=%d", i, i);
	assert_int_equal(url_query_parse(strbuf_view(&raw), arena, &query, &err), 0);
	assert_int_equal(query.count, URL_PAIRS_MAX);
	assert_true(str_equals(*url_query_find(&query, "p999"), "999"));
	strbuf_add_text(&raw, "&x");
	assert_int_equal(url_query_parse(strbuf_view(&raw), arena, &query, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	strbuf_fini(&raw);
}

static void a_full_arena_is_an_error(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(200, NULL);
	struct url_query query;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(url_query_parse(STR("a=1&b=2&c=3&d=4&e=5&f=6&g=7"), arena, &query, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

static void a_plus_is_a_blank_only_in_queries(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	struct str out;

	(void)state;
	assert_true(url_decode(STR("a+b%2Bc"), URL_PLUS_IS_PLUS, arena, &out));
	assert_true(str_equals(out, "a+b+c"));
	assert_true(url_decode(STR("a+b%2bc"), URL_PLUS_IS_BLANK, arena, &out));
	assert_true(str_equals(out, "a b+c"));
	assert_false(url_decode(STR("%"), URL_PLUS_IS_PLUS, arena, &out));
	assert_true(url_decode((struct str){ NULL, 0 }, URL_PLUS_IS_PLUS, arena, &out));
	assert_string_equal(out.data, "");
}

static void what_is_encoded_reads_back(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	struct strbuf text;
	struct strbuf encoded;
	struct str out;

	(void)state;
	strbuf_init(&text, 1000);
	strbuf_init(&encoded, 1000);
	for (int c = 0; c < 256; c++)
		strbuf_add_byte(&text, (char)c);
	url_encode(strbuf_view(&text), &encoded);
	assert_true(url_decode(strbuf_view(&encoded), URL_PLUS_IS_BLANK, arena, &out));
	assert_true(str_equal(out, strbuf_view(&text)));
	strbuf_reset(&encoded);
	url_encode(STR("a-b_c.d~e/\xff &="), &encoded);
	assert_string_equal(encoded.data, "a-b_c.d~e%2F%FF%20%26%3D");
	strbuf_fini(&text);
	strbuf_fini(&encoded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_are_read_as_go_reads_them),
		cmocka_unit_test(the_first_value_of_a_name_wins),
		cmocka_unit_test(too_many_pairs_are_refused),
		cmocka_unit_test(a_full_arena_is_an_error),
		cmocka_unit_test(a_plus_is_a_blank_only_in_queries),
		cmocka_unit_test(what_is_encoded_reads_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
