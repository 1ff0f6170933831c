#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "formats/multipart.h"

/* All parts as "name(filename)=content|", or NULL when the form is refused. */
static int describe(struct str type, struct str body, struct strbuf *out, struct error *err)
{
	struct multipart reader;
	struct multipart_part part;
	int more;

	if (multipart_init(&reader, type, body, err) < 0)
		return -1;
	while ((more = multipart_next(&reader, &part, err)) > 0) {
		strbuf_printf(out, "%.*s(%.*s)=", STR_ARGS(part.name), STR_ARGS(part.filename));
		strbuf_add_str(out, part.content);
		strbuf_add_byte(out, '|');
	}
	return more;
}

#define HEAD(name) "Content-Disposition: form-data; name=\"" name "\""

static void forms_are_taken_apart(void **state)
{
	static const struct {
		const char *type;
		const char *body;
		const char *expected;
	} cases[] = {
		{ "multipart/form-data; boundary=X",
		  "--X\r\n" HEAD("a") "; filename=\"f\"\r\n\r\n1\r\n--X\r\n" HEAD(
			  "b") "\r\n\r\n2\r\n--X--\r\n",
		  "a(f)=1|b()=2|" },
		{ "multipart/form-data; boundary=\"a b\"",
		  "--a b\r\n" HEAD("a") "\r\n\r\n1\r\n--a b--", "a()=1|" },
		{ "multipart/form-data; charset=utf-8; BOUNDARY = X ; x=y",
		  "--X\r\n" HEAD("a") "\r\n\r\n1\r\n--X--", "a()=1|" },
		/* line ends alone, blanks behind a boundary, text around the parts */
		{ "multipart/form-data; boundary=X",
		  "before\n--X \t\n" HEAD("a") "\n\n1\n2\n--X--\nbehind", "a()=1\n2|" },
		/* what looks like a boundary and is none */
		{ "multipart/form-data; boundary=X",
		  "--X\r\n" HEAD("a") "\r\n\r\nx--X\r\n--Xy\r\n --X\r\n--X--",
		  "a()=x--X\r\n--Xy\r\n --X|" },
		{ "multipart/form-data; boundary=X", "--X\r\n" HEAD("a") "\r\n\r\n\r\n--X--",
		  "a()=|" },
		/* not even the line end that belongs to the boundary */
		{ "multipart/form-data; boundary=X", "--X\r\n" HEAD("a") "\r\n\r\n--X--", "a()=|" },
		{ "multipart/form-data; boundary=X", "--X--", "" },
		/* names without quotes, other headers, any case */
		{ "multipart/form-data; boundary=X",
		  "--X\r\nContent-Type: text/plain\r\ncontent-disposition: form-data; filename=f.x; "
		  "NAME=a\r\n\r\n1\r\n--X--",
		  "a(f.x)=1|" },
		{ "multipart/form-data; boundary=X",
		  "--X\r\nContent-Disposition: form-data; filename=\"a;name=b\\\".c\"; "
		  "name=\"n\"\r\n\r\n1\r\n--X--",
		  "n(a;name=b\\\".c)=1|" },
		{ "multipart/form-data; boundary=X", "--X\r\n\r\nbare\r\n--X--", "()=bare|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(strbuf_fini) struct strbuf text;
		struct error err = { 0 };

		strbuf_init(&text, 1000);
		assert_int_equal(
			describe(str_of(cases[i].type), str_of(cases[i].body), &text, &err), 0);
		assert_string_equal(text.data, cases[i].expected);
	}
}

static void content_may_hold_any_byte(void **state)
{
	static const char body[] = "--X\r\n" HEAD("a") "\r\n\r\n\0\r\n\xff--\n\r\n--X--";
	CLEANUP(strbuf_fini) struct strbuf text;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&text, 1000);
	assert_int_equal(describe(STR("multipart/form-data; boundary=X"),
	                          (struct str){ body, sizeof(body) - 1 }, &text, &err),
	                 0);
	assert_int_equal(text.length, 12);
	assert_memory_equal(text.data, "a()=\0\r\n\xff--\n|", 12);
}

static void broken_forms_are_refused(void **state)
{
	static const struct {
		const char *type;
		const char *body;
		const char *message;
	} cases[] = {
		{ "multipart/form-data", "x", "malformed multipart content type header" },
		{ "multipart/form-data; boundary=", "x",
		  "malformed multipart content type header" },
		{ "multipart/form-data; boundary=\"\"", "x",
		  "malformed multipart content type header" },
		{ "multipart/form-data; boundary=abc", "", "multipart: NextPart: EOF" },
		{ "multipart/form-data; boundary=X", "no boundary", "multipart: NextPart: EOF" },
		{ "multipart/form-data; boundary=X", "--X\r\n", "multipart: NextPart: EOF" },
		{ "multipart/form-data; boundary=X", "--X\r\n" HEAD("a"),
		  "multipart: NextPart: EOF" },
		{ "multipart/form-data; boundary=X", "--X\r\n" HEAD("a") "\r\n\r\n1",
		  "unexpected EOF" },
		{ "multipart/form-data; boundary=X", "--X\r\n" HEAD("a") "\r\n\r\n1\r\n--X\r\n",
		  "multipart: NextPart: EOF" },
		{ "multipart/form-data; boundary=X", "--X\r\n" HEAD("a") "\r\n\r\n1\r\n--X",
		  "unexpected EOF" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(strbuf_fini) struct strbuf text;
		struct error err = { 0 };

		strbuf_init(&text, 1000);
		assert_int_equal(
			describe(str_of(cases[i].type), str_of(cases[i].body), &text, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_string_equal(err.message, cases[i].message);
	}
}

static void parts_headers_and_boundaries_have_limits(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf body;
	CLEANUP(strbuf_fini) struct strbuf text;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&body, 1 << 20);
	strbuf_init(&text, 1 << 20);
	for (int i = 0; i <= MULTIPART_PARTS_MAX; i++)
		strbuf_add_text(&body, "--X\r\n\r\n1\r\n");
	strbuf_add_text(&body, "--X--");
	assert_int_equal(describe(STR("multipart/form-data; boundary=X"), strbuf_view(&body), &text,
	                          &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);

	strbuf_reset(&body);
	strbuf_add_text(&body, "--X\r\n");
	for (int i = 0; i < MULTIPART_HEAD_MAX; i += 8)
		strbuf_add_text(&body, "Name: x\r\n");
	strbuf_add_text(&body, "\r\n1\r\n--X--");
	assert_int_equal(describe(STR("multipart/form-data; boundary=X"), strbuf_view(&body), &text,
	                          &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);

	strbuf_reset(&body);
	strbuf_add_text(&body, "multipart/form-data; boundary=");
	for (int i = 0; i <= MULTIPART_BOUNDARY_MAX; i++)
		strbuf_add_byte(&body, 'x');
	assert_int_equal(describe(strbuf_view(&body), STR("x"), &text, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_are_taken_apart),
		cmocka_unit_test(content_may_hold_any_byte),
		cmocka_unit_test(broken_forms_are_refused),
		cmocka_unit_test(parts_headers_and_boundaries_have_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
