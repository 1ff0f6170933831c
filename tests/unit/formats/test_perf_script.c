#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/perf_script.h"

#define ARENA_BYTES ((size_t)1 << 20)

static void events_become_folded_lines_root_first(void **state)
{
	static const struct {
		const char *text;
		const char *folded;
		size_t other;
	} cases[] = {
		{ "# ========\n# captured on: today\n#\n"
		  "python3  4242/4250 [000]  1234.567890:     250000 cpu-clock:pppH: \n"
		  "\t    55d0c0f01234 _PyEval_EvalFrameDefault+0x12 (/usr/bin/python3.11)\n"
		  "\t    7f0000001000 [unknown] (/usr/lib/x86_64-linux-gnu/libc.so.6)\n\n",
		  "python3;[libc.so.6];_PyEval_EvalFrameDefault 1\n", 0 },
		/* commands and names with blanks, signs and brackets */
		{ "my app: x 17 1.5: 100 cycles:u: \n"
		  "  401136 operator+(A const&, B)+0x4 (/bin/a (deleted))\n"
		  "  401200 std::map<int, a;b>::at (/bin/a)\n"
		  "  ffffffff81 do_syscall_64 ([kernel.kallsyms])\n"
		  "  0 [unknown] ([unknown])\n",
		  "my app: x;[unknown];do_syscall_64;std::map<int, a:b>::at;operator+(A const&, B) 1\n",
		  0 },
		/* the first event counts, an event without frames too; CRLF */
		{ "a 1 1.0: 1 cycles: \n\t1 f (x)\n\na 1 1.1: 1 faults: \n\t2 g (x)\n\n"
		  "a 1 1.2: 1 cycles: \n\n",
		  "a;f 1\na 1\n", 1 },
		{ "a 1 1.0: 1 cycles: \r\n\t1 f+0x1 (x)\r\n\r\n", "a;f 1\n", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		CLEANUP(strbuf_fini) struct strbuf folded;
		struct perf_script_counts counts;
		struct error err = { 0 };

		strbuf_init(&folded, 10000);
		assert_int_equal(
			perf_script_fold(str_of(cases[i].text), arena, &folded, &counts, &err), 0);
		assert_string_equal(folded.data, cases[i].folded);
		assert_int_equal(counts.other_samples, cases[i].other);
	}
}

static void text_without_an_event_is_refused(void **state)
{
	static const char *const texts[] = { "", "\n", "# only a head\n", "main;work 5\n",
		                             "\t1 f (x)\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		CLEANUP(strbuf_fini) struct strbuf folded;
		struct perf_script_counts counts;
		struct error err = { 0 };

		strbuf_init(&folded, 10000);
		assert_int_equal(perf_script_fold(str_of(texts[i]), arena, &folded, &counts, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_become_folded_lines_root_first),
		cmocka_unit_test(text_without_an_event_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
