#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

#define MIB ((size_t)1 << 20)

static const struct json *parse(struct str text, struct arena *arena)
{
	const struct json *value = NULL;
	struct error err = { 0 };

	if (json_parse(text, arena, &value, &err) < 0)
		fail_msg("%.*s: %s", STR_ARGS(text), err.message);
	return value;
}

static enum error_code code_of(struct str text, size_t arena_bytes)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(arena_bytes, NULL);
	const struct json *value = NULL;
	struct error err = { 0 };

	if (json_parse(text, arena, &value, &err) == 0)
		return ERROR_NONE;
	assert_null(value);
	return err.code;
}

static void each_kind_of_value_is_read(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	const struct json *root = parse(
		STR(" {\"a\":[1,-2.5,\"x\",true,false,null,{}],\"b\":{\"c\":\"d\"}} \n"), arena);
	const struct json *list = json_get(root, "a");

	(void)state;
	assert_int_equal(json_kind(root), JSON_MAP);
	assert_int_equal(json_length(root), 2);
	assert_int_equal(json_kind(list), JSON_LIST);
	assert_int_equal(json_length(list), 7);
	assert_int_equal(json_kind(json_at(list, 0)), JSON_INT);
	assert_int_equal(json_int(json_at(list, 0)), 1);
	assert_true(json_number(json_at(list, 0)) == 1);
	assert_int_equal(json_kind(json_at(list, 1)), JSON_REAL_NUMBER);
	assert_true(json_number(json_at(list, 1)) == -2.5);
	assert_int_equal(json_int(json_at(list, 1)), 0);
	assert_true(str_equals(json_text(json_at(list, 2)), "x"));
	assert_int_equal(json_kind(json_at(list, 3)), JSON_BOOL);
	assert_true(json_bool(json_at(list, 3)));
	assert_int_equal(json_kind(json_at(list, 4)), JSON_BOOL);
	assert_false(json_bool(json_at(list, 4)));
	assert_int_equal(json_kind(json_at(list, 5)), JSON_NULL_VALUE);
	assert_int_equal(json_kind(json_at(list, 6)), JSON_MAP);
	assert_int_equal(json_length(json_at(list, 6)), 0);
	assert_true(str_equals(json_text(json_get(json_get(root, "b"), "c")), "d"));
}

static void what_is_absent_is_empty(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	const struct json *root = parse(STR("{\"a\":1}"), arena);

	(void)state;
	assert_null(json_get(root, "b"));
	assert_null(json_get(json_get(root, "a"), "b"));
	assert_null(json_get(NULL, "b"));
	assert_null(json_at(root, 0));
	assert_null(json_at(NULL, 0));
	assert_int_equal(json_kind(NULL), JSON_NONE);
	assert_int_equal(json_length(NULL), 0);
	assert_int_equal(json_int(NULL), 0);
	assert_false(json_bool(NULL));
	assert_int_equal(json_text(NULL).length, 0);
	assert_int_equal(json_text(json_get(root, "a")).length, 0);
}

static void a_value_alone_is_a_text(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);

	(void)state;
	assert_int_equal(json_int(parse(STR(" 42 "), arena)), 42);
	assert_int_equal(json_kind(parse(STR("null"), arena)), JSON_NULL_VALUE);
	assert_true(str_equals(json_text(parse(STR("\"x\""), arena)), "x"));
}

static void strings_may_hold_nul_and_escapes(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	const struct str text =
		json_text(parse(STR("\"a\\u0000b\\n\\\"\\\\\\/\\u00e4\\ud83d\\ude00\""), arena));

	(void)state;
	assert_true(str_equal(text, STR("a\0b\n\"\\/\xc3\xa4\xf0\x9f\x98\x80")));
}

static void integers_past_int64_become_reals(void **state)
{
	static const struct {
		struct str text;
		enum json_kind kind;
		int64_t integer;
		double real;
	} cases[] = {
		{ STR("9223372036854775807"), JSON_INT, INT64_MAX, 9223372036854775808.0 },
		{ STR("-9223372036854775808"), JSON_INT, INT64_MIN, -9223372036854775808.0 },
		{ STR("9223372036854775808"), JSON_REAL_NUMBER, 0, 9223372036854775808.0 },
		{ STR("-9223372036854775809"), JSON_REAL_NUMBER, 0, -9223372036854775808.0 },
		{ STR("18446744073709551615"), JSON_REAL_NUMBER, 0, 18446744073709551616.0 },
		{ STR("1000000000000000000000000000000"), JSON_REAL_NUMBER, 0, 1e30 },
		{ STR("1000000000000000000000000000000.5"), JSON_REAL_NUMBER, 0, 1e30 },
		{ STR("1000000000000000000000000000000e-30"), JSON_REAL_NUMBER, 0, 1 },
		{ STR("1.7672256e12"), JSON_REAL_NUMBER, 0, 1767225600000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
		const struct json *value = parse(cases[i].text, arena);

		assert_int_equal(json_kind(value), cases[i].kind);
		assert_true(json_int(value) == cases[i].integer);
		assert_true(json_number(value) == cases[i].real);
	}
}

static void big_integers_stand_anywhere(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	const struct json *root = parse(STR("{\"99999999999999999999\":[99999999999999999999,1,"
	                                    "\"99999999999999999999\\\"\","
	                                    "-99999999999999999999]}"),
	                                arena);
	const struct json *list = json_get(root, "99999999999999999999");

	(void)state;
	assert_true(json_number(json_at(list, 0)) == 1e20);
	assert_int_equal(json_int(json_at(list, 1)), 1);
	assert_true(str_equals(json_text(json_at(list, 2)), "99999999999999999999\""));
	assert_true(json_number(json_at(list, 3)) == -1e20);
}

static void what_is_no_json_is_refused(void **state)
{
	static const struct str cases[] = {
		STR(""),
		STR("  "),
		STR("{"),
		STR("[1,]"),
		STR("{\"a\":1,}"),
		STR("{\"a\" 1}"),
		STR("{a:1}"),
		STR("{'a':1}"),
		STR("[1] x"),
		STR("[1][2]"),
		STR("01"),
		STR("-"),
		STR("1."),
		STR("1e"),
		STR("+1"),
		STR("1e999"),
		STR("NaN"),
		STR("tru"),
		STR("\"a"),
		STR("\"a\\"),
		STR("\"\\x\""),
		STR("\"\n\""),
		STR("\"\\ud800\""),
		STR("\"\\udc00\""),
		STR("\"\xff\""),
		STR("\"\xc0\x80\""),
		STR("\0"),
		STR("[1\0]"),
		STR("{\"a\":1,\"a\":2}"),
		STR("{\"a\":1,\"\\u0061\":2}"),
		STR("{\"a\\u0000\":1}"),
		STR("// x\n1"),
		STR("-99999999999999999999x"),
	};

	(void)state;
	assert_int_equal(code_of((struct str){ NULL, 0 }, MIB), ERROR_INVALID);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		if (code_of(cases[i], MIB) != ERROR_INVALID)
			fail_msg("accepted: %.*s", STR_ARGS(cases[i]));
}

static void errors_say_where(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	const struct json *value;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(json_parse(STR("{\"a\":1,\n \"b\":x}"), arena, &value, &err), -1);
	assert_non_null(strstr(err.message, "line 2, column 6"));
}

static void nesting_is_bounded(void **state)
{
	static const struct {
		char open;
		char close;
	} brackets[] = { { '[', ']' }, { '{', '}' } };
	char text[100000];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(brackets); i++) {
		memset(text, brackets[i].open, sizeof(text));
		assert_int_equal(code_of(str_make(text, sizeof(text)), MIB), ERROR_INVALID);
	}
	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	assert_int_equal(code_of(str_make(text, (size_t)2 * JSON_DEPTH_MAX), MIB), ERROR_NONE);
	memset(text, '[', JSON_DEPTH_MAX + 1);
	memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	assert_int_equal(code_of(str_make(text, (size_t)2 * JSON_DEPTH_MAX + 2), MIB),
	                 ERROR_INVALID);
	/* brackets in strings do not nest */
	memset(text, '[', sizeof(text));
	text[0] = text[sizeof(text) - 1] = '"';
	assert_int_equal(code_of(str_make(text, sizeof(text)), MIB), ERROR_NONE);
}

/* Every limit from nothing to enough: the parse fails cleanly or is whole. */
static void a_full_arena_ends_the_parse_wherever_it_is(void **state)
{
	static const struct str text = STR(
		"{\"numbers\":[0.00000000000000000000000000000001e5,12345678901234567890,1],"
		"\"text\":\"a string that is longer than the first buffer of the parser\","
		"\"map\":{\"a\":{},\"b\":[[]],\"c\":null,\"d\":1,\"e\":2,\"f\":3,\"g\":4,\"h\":5,"
		"\"i\":6,\"j\":7}}");
	bool fitted = false;

	(void)state;
	for (size_t limit = 0; limit < 40000; limit += 24) {
		const enum error_code code = code_of(text, limit);

		assert_true(code == ERROR_NONE || code == ERROR_TOO_LARGE);
		assert_false(fitted && code != ERROR_NONE);
		fitted = code == ERROR_NONE;
	}
	assert_true(fitted);
}

struct seen {
	struct strbuf keys;
	int stop_after;
};

static int see(void *context, struct str key, const struct json *value)
{
	struct seen *seen = context;

	strbuf_add_str(&seen->keys, key);
	strbuf_printf(&seen->keys, "=%d ", (int)json_int(value));
	return --seen->stop_after == 0 ? 7 : 0;
}

static void members_come_in_the_order_of_the_text(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	const struct json *root = parse(STR("{\"z\":1,\"a\":2,\"m\":3,\"\xc3\xa4\":4,"
	                                    "\"b\":5,\"y\":6,\"c\":7,\"x\":8,\"d\":9}"),
	                                arena);
	struct seen seen = { .stop_after = 100 };

	(void)state;
	strbuf_init(&seen.keys, 1000);
	assert_int_equal(json_each(root, see, &seen), 0);
	assert_string_equal(seen.keys.data, "z=1 a=2 m=3 \xc3\xa4=4 b=5 y=6 c=7 x=8 d=9 ");
	strbuf_reset(&seen.keys);
	seen.stop_after = 2;
	assert_int_equal(json_each(root, see, &seen), 7);
	assert_string_equal(seen.keys.data, "z=1 a=2 ");
	assert_int_equal(json_each(NULL, see, &seen), 0);
	strbuf_fini(&seen.keys);
}

static void the_writer_puts_commas_by_itself(void **state)
{
	struct json_writer writer;
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 1000);
	json_writer_init(&writer, &out);
	json_begin_map(&writer);
	json_key(&writer, "a");
	json_begin_list(&writer);
	json_put_int(&writer, -1);
	json_put_uint(&writer, UINT64_MAX);
	json_put_int_text(&writer, INT64_MIN);
	json_put_uint_text(&writer, 0);
	json_begin_list(&writer);
	json_end_list(&writer);
	json_put_bool(&writer, true);
	json_put_bool(&writer, false);
	json_put_null(&writer);
	json_end_list(&writer);
	json_key_str(&writer, STR("b\0"));
	json_begin_map(&writer);
	json_end_map(&writer);
	json_key(&writer, "c");
	json_put_double(&writer, 0.5);
	json_end_map(&writer);
	assert_string_equal(out.data, "{\"a\":[-1,18446744073709551615,\"-9223372036854775808\","
	                              "\"0\",[],true,false,null],\"b\\u0000\":{},\"c\":0.5}");
	strbuf_fini(&out);
}

static void text_is_escaped_and_repaired(void **state)
{
	static const struct {
		struct str text;
		const char *plain;
		const char *html;
	} cases[] = {
		{ STR(""), "\"\"", "\"\"" },
		{ STR("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"", "\"a\\\"b\\\\c/d\"" },
		{ STR("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"", "\"\\b\\f\\n\\r\\t\"" },
		{ STR("\0\x01\v\x1f\x7f"), "\"\\u0000\\u0001\\u000b\\u001f\x7f\"",
		  "\"\\u0000\\u0001\\u000b\\u001f\x7f\"" },
		{ STR("<&>"), "\"<&>\"", "\"\\u003c\\u0026\\u003e\"" },
		{ STR("\xe2\x80\xa8x\xe2\x80\xa9"), "\"\xe2\x80\xa8x\xe2\x80\xa9\"",
		  "\"\\u2028x\\u2029\"" },
		{ STR("na\xc3\xafve"), "\"na\xc3\xafve\"", "\"na\xc3\xafve\"" },
		{ STR("a\xff\xc3"), "\"a\xef\xbf\xbd\xef\xbf\xbd\"",
		  "\"a\xef\xbf\xbd\xef\xbf\xbd\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct json_writer writer;
		struct strbuf out;

		strbuf_init(&out, 1000);
		json_writer_init(&writer, &out);
		json_put_text(&writer, cases[i].text);
		assert_string_equal(out.data, cases[i].plain);
		strbuf_reset(&out);
		json_writer_init(&writer, &out);
		writer.escape_html = true;
		json_put_text(&writer, cases[i].text);
		assert_string_equal(out.data, cases[i].html);
		strbuf_fini(&out);
	}
}

static void numbers_that_json_lacks_are_strings(void **state)
{
	struct json_writer writer;
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 1000);
	json_writer_init(&writer, &out);
	json_begin_list(&writer);
	json_put_double(&writer, NAN);
	json_put_double(&writer, INFINITY);
	json_put_double(&writer, -INFINITY);
	json_put_double(&writer, 1e21);
	json_end_list(&writer);
	assert_string_equal(out.data, "[\"NaN\",\"Infinity\",\"-Infinity\",1e+21]");
	strbuf_fini(&out);
}

/* 2^53 is the last of which its neighbours are doubles, too: RFC 8259, 6. */
static void exact_numbers_are_texts_where_doubles_end(void **state)
{
	struct json_writer writer;
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 1 << 20);
	json_writer_init(&writer, &out);
	json_begin_list(&writer);
	json_put_exact(&writer, INT64_C(9007199254740992));
	json_put_exact(&writer, INT64_C(9007199254740993));
	json_put_exact(&writer, INT64_C(-9007199254740992));
	json_put_exact(&writer, INT64_MIN);
	json_end_list(&writer);
	assert_string_equal(out.data, "[9007199254740992,\"9007199254740993\",-9007199254740992,"
	                              "\"-9223372036854775808\"]");
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_numbers_are_texts_where_doubles_end),
		cmocka_unit_test(each_kind_of_value_is_read),
		cmocka_unit_test(what_is_absent_is_empty),
		cmocka_unit_test(a_value_alone_is_a_text),
		cmocka_unit_test(strings_may_hold_nul_and_escapes),
		cmocka_unit_test(integers_past_int64_become_reals),
		cmocka_unit_test(big_integers_stand_anywhere),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(errors_say_where),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(a_full_arena_ends_the_parse_wherever_it_is),
		cmocka_unit_test(members_come_in_the_order_of_the_text),
		cmocka_unit_test(the_writer_puts_commas_by_itself),
		cmocka_unit_test(text_is_escaped_and_repaired),
		cmocka_unit_test(numbers_that_json_lacks_are_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
