#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/command/terminal.h"

static void what_could_move_the_cursor_is_shown_as_its_code(void **state)
{
	static const struct {
		struct str text;
		const char *shown;
	} cases[] = {
		{ { "main", 4 }, "main" },
		{ { "\x1b[2Jgone", 8 }, "\\x1b[2Jgone" },
		{ { "a\nb\tc\r", 6 }, "a\\x0ab\\x09c\\x0d" },
		{ { "nul\0in", 6 }, "nul\\x00in" },
		{ { "\x7f", 1 }, "\\x7f" },
		{ { "\xc2\x9b", 2 }, "\\x9b" }, /* U+009B begins a sequence as ESC [ does */
		{ { "bad\xff", 4 }, "bad\\xff" },
		{ { "f\xc3\xb6\xc3\xb6", 5 }, "f\xc3\xb6\xc3\xb6" },
		{ { NULL, 0 }, "" },
	};
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 1024);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		strbuf_reset(&out);
		terminal_escape(cases[i].text, &out);
		assert_string_equal(out.data, cases[i].shown);
	}
	strbuf_fini(&out);
}

static void a_long_name_keeps_both_ends(void **state)
{
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 1024);
	terminal_escape_cut(STR("github.com/acme/shop/checkout.(*Cart).Total"), 23, &out);
	assert_string_equal(out.data, "github....(*Cart).Total");
	strbuf_fini(&out);
}

static void a_name_that_fits_is_whole(void **state)
{
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 1024);
	terminal_escape_cut(STR("main.main"), 9, &out);
	assert_string_equal(out.data, "main.main");
	strbuf_fini(&out);
}

static void a_file_gets_no_colours_and_no_width(void **state)
{
	FILE *file = tmpfile();
	struct strbuf out;

	(void)state;
	assert_non_null(file);

	const struct terminal terminal = terminal_of(file);

	assert_false(terminal.is_terminal);
	assert_true(terminal.width == SIZE_MAX);
	strbuf_init(&out, 1024);
	terminal_style(&terminal, TERMINAL_RED, STR("hot"), &out);
	assert_string_equal(out.data, "hot");
	terminal_progress(&terminal, "half way");
	assert_int_equal(ftell(file), 0);
	strbuf_fini(&out);
	assert_int_equal(fclose(file), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_could_move_the_cursor_is_shown_as_its_code),
		cmocka_unit_test(a_long_name_keeps_both_ends),
		cmocka_unit_test(a_name_that_fits_is_whole),
		cmocka_unit_test(a_file_gets_no_colours_and_no_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
