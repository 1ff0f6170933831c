#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/format.h"

static void the_first_condition_that_holds_selects(void **state)
{
	static const struct {
		const char *parameter;
		const char *content_type;
		const char *name;
	} cases[] = {
		{ "", "", "groups" },
		{ "folded", "application/x-www-form-urlencoded", "groups" },
		{ "groups", "text/plain", "groups" },
		{ "anything", "", "groups" },
		{ "PPROF", "", "groups" },
		{ "trie", "", "trie" },
		{ "", "binary/octet-stream+trie", "trie" },
		{ "lines", "binary/octet-stream+trie", "trie" },
		{ "", "binary/octet-stream+trie; x=y", "groups" },
		{ "tree", "", "tree" },
		{ "pprof", "binary/octet-stream+tree", "tree" },
		{ "lines", "multipart/form-data; boundary=x", "lines" },
		{ "jfr", "multipart/form-data; boundary=x", "jfr" },
		{ "pprof", "application/octet-stream", "pprof" },
		{ "pprof", "multipart/form-data; boundary=x", "pprof" },
		{ "speedscope", "application/json", "speedscope" },
		{ "", "multipart/form-data; boundary=x", "pprof" },
		{ "folded", "multipart/form-data", "pprof" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_string_equal(format_select(str_of(cases[i].parameter),
		                                  str_of(cases[i].content_type))
		                            ->name,
		                    cases[i].name);
}

static void text_formats_and_pprof_fail_in_their_own_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < format_count(); i++) {
		const char *name = format_at(i)->name;
		const bool is_text = strcmp(name, "groups") == 0 || strcmp(name, "lines") == 0 ||
		                     strcmp(name, "trie") == 0 || strcmp(name, "tree") == 0;

		assert_int_equal(format_at(i)->family, is_text ? FORMAT_TEXT : FORMAT_PPROF);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_condition_that_holds_selects),
		cmocka_unit_test(text_formats_and_pprof_fail_in_their_own_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
