#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"
#include "formats/content.h"
#include "tests/unit/formats/vectors.h"
#include "tests/unit/growth.h"

#define ARENA_BYTES ((size_t)4 << 20)

static void assert_looks(struct str body, const char *name)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct content *content = content_of(body, arena);

	if (!name) {
		assert_null(content);
		return;
	}
	assert_non_null(content);
	assert_string_equal(content->name, name);
}

static void texts_are_told_by_their_lines(void **state)
{
	static const struct {
		const char *body;
		const char *name;
	} cases[] = {
		{ "main;work 30\nmain;idle 5\n", "folded stacks" },
		{ "python3 (4242);do it now 1\r\n\r\nx 2", "folded stacks" },
		{ "main 1", "folded stacks" },
		{ "main;work 30main;idle 5", "folded stacks without line breaks" },
		{ "main 30main;idle 5", "folded stacks without line breaks" },
		{ "# captured on: x\npython3  4242/4242 [000]  1234.567890:     250000 "
		  "cpu-clock:pppH: \n\tffffffff81c0 do_syscall_64+0x3b ([kernel.kallsyms])\n",
		  "output of perf script" },
		{ "app 1 1.5: cycles: \n    55d0 main (/bin/app)\n", "output of perf script" },
		{ "{\"version\":\"0.0.1\", \"$schema\": "
		  "\"https://www.speedscope.app/file-format-schema.json\"}",
		  "a speedscope file" },
		{ "--X\r\nContent-Disposition: form-data; name=\"profile\"\r\n\r\n\r\n--X--\r\n",
		  "a form" },
		{ "[object FormData]", "a FormData object that was made a text" },
		{ "", NULL },
		{ "\n\n", NULL },
		{ "nospacehere", NULL },
		{ "this is no profile", NULL },
		{ "{\"a\": 1}", NULL },
		{ "<html> 12\n<body>\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_looks(str_of(cases[i].body), cases[i].name);
}

static void bytes_are_told_by_their_structure(void **state)
{
	static const struct {
		const char *hex;
		const char *name;
	} cases[] = {
		{ VECTOR_PPROF_HEX, "a pprof" },
		{ "464c5200000200010000", "a JFR recording" },
		/* the vectors of the ingest specification, 8.3 and 8.4 */
		{ "000001056d61696e3b00020161010003623b63ac0200", "a trie" },
		{ "000001016100020162010001630200", "a tree" },
		/* cut, going on, and with a name of control characters */
		{ "00000101610002016201000163", NULL },
		{ "00000101610002016201000163020000", NULL },
		{ "00000101070100", NULL },
		{ "00000000000000000000", NULL },
		{ "1f8b", NULL },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_looks(vector_unhex(arena, cases[i].hex), cases[i].name);
}

static void gzip_is_looked_through(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct str packed;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(base64_decode(STR(VECTOR_PPROF_GZIP_BASE64), arena, &packed, &err), 0);
	assert_looks(packed, "a pprof");
}

/* One line is one stack, unless a count runs into what is plainly another stack. */
static void only_what_reads_as_several_stacks_has_lost_its_line_breaks(void **state)
{
	static const struct {
		const char *text;
		bool is_joined;
	} cases[] = {
		{ "main;work 30main;idle 5", true },
		{ "main;work 30main 5", false }, /* may be a frame "work 30main" */
		{ "main;work 30main;x 5other;y 7", true },
		{ "main;work 30\nmain;idle 5", false },
		{ "main;thing 2nd 5", false },
		{ "main;version 1.5;run 5", false },
		{ "main;f(int, 3);g 5", false },
		{ "main;do 3 things;x 5", false },
		{ "main 5", false },
		{ "main;work 30main;idle", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(content_is_joined(str_of(cases[i].text)), cases[i].is_joined);
}

/* Counts, and behind each what could be a stack, but has no ';': "x;a 1b 1b 1". */
static void look_at_counts(size_t size)
{
	CLEANUP(strbuf_fini) struct strbuf text;

	strbuf_init(&text, size + 8);
	strbuf_add_text(&text, "x;a 1");
	while (text.length < size)
		strbuf_add_text(&text, "b 1");
	assert_false(content_is_joined(strbuf_view(&text)));
	assert_false(content_is_joined(str_skip(strbuf_view(&text), 2)));
}

static void a_long_line_is_looked_at_once(void **state)
{
	(void)state;
	growth_is_linear(look_at_counts, 64 << 10);
}

static bool explain(struct str body, const char *format, struct arena *arena, struct error *err)
{
	return content_explain(&(struct content_sent){ body, STR(""), format }, arena, err);
}

/* What is said to be a form is none that lacks its content type. */
static void of_a_form_its_parts_are_told(void **state)
{
	static const char form[] = "--b\r\nContent-Disposition: form-data; name=\"jfr\"\r\n\r\n"
				   "main;work 5\r\n--b--\r\n";
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct str type = STR("multipart/form-data; boundary=b");
	const struct str body = { form, sizeof(form) - 1 };
	struct error err = { ERROR_INVALID, "bad" };

	(void)state;
	assert_false(content_explain(&(struct content_sent){ body, type, "folded" }, arena, &err));
	assert_string_equal(err.message, "bad");
	assert_true(content_explain(&(struct content_sent){ body, type, "jfr" }, arena, &err));
	assert_string_equal(err.message, "bad; the form's part 'jfr' looks like folded stacks: "
	                                 "send it with format=folded");
	err.message[0] = '\0';
	assert_true(explain(body, "jfr", arena, &err));
	assert_string_equal(err.message, "this looks like a form: send it with Content-Type: "
	                                 "multipart/form-data and its boundary");
}

static void a_message_says_what_to_do_unless_the_format_is_right(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct error err = { ERROR_INVALID, "bad" };

	(void)state;
	assert_false(explain(STR("a;b 1\n"), "folded", arena, &err));
	assert_string_equal(err.message, "bad");
	assert_true(explain(STR("a;b 1\n"), "pprof", arena, &err));
	assert_string_equal(err.message,
	                    "bad; this looks like folded stacks: send it with format=folded");
	err.message[0] = '\0';
	assert_true(explain(STR("FLR\0\0\2"), "folded", arena, &err));
	assert_string_equal(err.message,
	                    "this looks like a JFR recording: send it with format=jfr");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_told_by_their_lines),
		cmocka_unit_test(bytes_are_told_by_their_structure),
		cmocka_unit_test(gzip_is_looked_through),
		cmocka_unit_test(only_what_reads_as_several_stacks_has_lost_its_line_breaks),
		cmocka_unit_test(a_long_line_is_looked_at_once),
		cmocka_unit_test(of_a_form_its_parts_are_told),
		cmocka_unit_test(a_message_says_what_to_do_unless_the_format_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
