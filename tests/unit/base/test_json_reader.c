#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json_reader.h"

#define ARENA_BYTES ((size_t)1 << 20)

/* Walks everything: maps as {key=value,...}, lists as [value,...], texts in quotes. */
static int tell(struct json_reader *reader, struct arena *arena, struct strbuf *out,
                struct error *err)
{
	struct str text;
	double number;
	int more;

	switch (json_reader_kind(reader)) {
	case JSON_MAP:
		strbuf_add_byte(out, '{');
		if (json_reader_enter_map(reader, err) < 0)
			return -1;
		while ((more = json_reader_next_member(reader, arena, &text, err)) > 0) {
			strbuf_printf(out, "%.*s=", STR_ARGS(text));
			if (tell(reader, arena, out, err) < 0)
				return -1;
		}
		strbuf_add_byte(out, '}');
		return more;
	case JSON_LIST:
		strbuf_add_byte(out, '[');
		if (json_reader_enter_list(reader, err) < 0)
			return -1;
		while ((more = json_reader_next_item(reader, err)) > 0)
			if (tell(reader, arena, out, err) < 0)
				return -1;
		strbuf_add_byte(out, ']');
		return more;
	case JSON_TEXT:
		if (json_reader_text(reader, arena, &text, err) < 0)
			return -1;
		strbuf_printf(out, "\"%.*s\"", STR_ARGS(text));
		return 0;
	case JSON_REAL_NUMBER:
		if (json_reader_number(reader, &number, err) < 0)
			return -1;
		strbuf_printf(out, "%.17g ", number);
		return 0;
	default:
		if (json_reader_skip(reader, &text, err) < 0)
			return -1;
		strbuf_add_str(out, text);
		return 0;
	}
}

static void values_are_told_in_the_order_of_the_text(void **state)
{
	static const struct {
		const char *text;
		const char *told;
	} cases[] = {
		{ "{}", "{}" },
		{ " [ ] ", "[]" },
		{ "[[],[[]],{}]", "[[][[]]{}]" },
		{ "{\"a\" : 1 , \"b\":[true,false , null],\"a\":{\"c\":\"d\"}}",
		  "{a=1 b=[truefalsenull]a={c=\"d\"}}" },
		{ "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\"\\/\b\f\n\r\t\"]" },
		{ "[\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"]",
		  "[\"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]" },
		/* halves of a character, and bytes that are none, become U+FFFD */
		{ "[\"\\ud83d-\\ude00\\ud83d\\u0041\"]", "[\"\xef\xbf\xbd-\xef\xbf\xbd\xef\xbf\xbd"
		                                         "A\"]" },
		{ "[\"a\xff"
		  "b\"]",
		  "[\"a\xef\xbf\xbd"
		  "b\"]" },
		/* numbers: what the decimal says, rounded to the nearest double once */
		{ "[0,-0.0,12,-3,0.5,1e3,25E-2,2.5e+1]", "[0 -0 12 -3 0.5 1000 0.25 25 ]" },
		{ "[9007199254740993,9007199254740995,0.3,1e-999]",
		  "[9007199254740992 9007199254740996 0.29999999999999999 0 ]" },
		{ "[999999999999999,0.1,4.9e-324]",
		  "[999999999999999 0.10000000000000001 4.9406564584124654e-324 ]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		CLEANUP(strbuf_fini) struct strbuf told;
		struct json_reader reader;
		struct error err = { 0 };

		strbuf_init(&told, 10000);
		json_reader_init(&reader, str_of(cases[i].text));
		assert_int_equal(tell(&reader, arena, &told, &err), 0);
		assert_int_equal(json_reader_end(&reader, &err), 0);
		assert_string_equal(told.data, cases[i].told);
	}
}

static void what_is_no_json_is_refused_by_walking_and_by_skipping(void **state)
{
	static const char *const texts[] = {
		"",          "{",           "[",        "[1",           "[1,",        "[1,]",
		"[,1]",      "[1 2]",       "{\"a\"}",  "{\"a\":}",     "{\"a\":1,}", "{a:1}",
		"{\"a\" 1}", "[01]",        "[1.]",     "[.5]",         "[-]",        "[+1]",
		"[1e]",      "[tru]",       "[nul]",    "[NaN]",        "\"a",        "\"\\x\"",
		"\"\\u12\"", "\"\\u12g4\"", "\"a\nb\"", "[\"a\"\"b\"]", "]",          "[1}",
		"{\"a\":1]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		CLEANUP(strbuf_fini) struct strbuf told;
		struct json_reader reader;
		struct str raw;
		struct error err = { 0 };

		strbuf_init(&told, 10000);
		json_reader_init(&reader, str_of(texts[i]));
		assert_int_equal(tell(&reader, arena, &told, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		err = (struct error){ 0 };
		json_reader_init(&reader, str_of(texts[i]));
		assert_int_equal(json_reader_skip(&reader, &raw, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void a_number_that_no_double_holds_is_refused(void **state)
{
	struct json_reader reader;
	struct error err = { 0 };
	double number = 7;

	(void)state;
	json_reader_init(&reader, STR("1e999"));
	assert_int_equal(json_reader_number(&reader, &number, &err), -1);
	assert_string_equal(err.message, "JSON, byte 0: number 1e999 is out of range");
	assert_true(number == 7);
}

static void a_skipped_value_can_be_read_later(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct json_reader reader;
	struct str key;
	struct str raw;
	struct error err = { 0 };

	(void)state;
	json_reader_init(&reader, STR("{\"list\": [1, {\"b\": \"]\"}] , \"after\": 2}"));
	assert_int_equal(json_reader_enter_map(&reader, &err), 0);
	assert_int_equal(json_reader_next_member(&reader, arena, &key, &err), 1);
	assert_int_equal(json_reader_skip(&reader, &raw, &err), 0);
	assert_true(str_equals(raw, "[1, {\"b\": \"]\"}]"));
	assert_int_equal(json_reader_next_member(&reader, arena, &key, &err), 1);
	assert_true(str_equals(key, "after"));
}

static void another_kind_of_value_is_an_error_and_what_follows_too(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct json_reader reader;
	struct str text;
	struct error err = { 0 };
	double number;

	(void)state;
	json_reader_init(&reader, STR(" \"a\""));
	assert_int_equal(json_reader_number(&reader, &number, &err), -1);
	assert_string_equal(err.message, "JSON, byte 1: expected a number");
	json_reader_init(&reader, STR("1"));
	assert_int_equal(json_reader_text(&reader, arena, &text, &err), -1);
	assert_int_equal(json_reader_enter_map(&reader, &err), -1);
	assert_int_equal(json_reader_enter_list(&reader, &err), -1);
	json_reader_init(&reader, STR("1 x"));
	assert_int_equal(json_reader_number(&reader, &number, &err), 0);
	assert_int_equal(json_reader_end(&reader, &err), -1);
}

static void nesting_is_bounded(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf text;
	struct json_reader reader;
	struct str raw;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&text, 1 << 20);
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		strbuf_add_byte(&text, '[');
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		strbuf_add_byte(&text, ']');
	json_reader_init(&reader, strbuf_view(&text));
	assert_int_equal(json_reader_skip(&reader, &raw, &err), 0);
	strbuf_reset(&text);
	for (int i = 0; i < 1000000; i++)
		strbuf_add_byte(&text, '[');
	json_reader_init(&reader, strbuf_view(&text));
	assert_int_equal(json_reader_skip(&reader, &raw, &err), -1);
	assert_string_equal(err.message, "JSON nests deeper than 512");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_told_in_the_order_of_the_text),
		cmocka_unit_test(what_is_no_json_is_refused_by_walking_and_by_skipping),
		cmocka_unit_test(a_number_that_no_double_holds_is_refused),
		cmocka_unit_test(a_skipped_value_can_be_read_later),
		cmocka_unit_test(another_kind_of_value_is_an_error_and_what_follows_too),
		cmocka_unit_test(nesting_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
