#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "collector/watch/program_identity.h"

/* Fields as proc(5) numbers them: 26 startcode, 28 startstack, 48 arg_start. */
#define BEFORE "0 1 1 0 -1 4194304 100 0 0 0 0 0 0 0 20 0 1 0 2092469 2998272 363 1844674407 "
#define AFTER  " 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 11 12 13 "

static void the_three_addresses_are_found_behind_any_name(void **state)
{
	static const char *const names[] = { "(python3)", "(a b)", "(x) R 9 9)", "()" };
	struct exec_identity identity;
	struct error err;
	struct strbuf text;

	(void)state;
	strbuf_init(&text, 4096);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		identity = (struct exec_identity){ .inode = 7 };
		strbuf_reset(&text);
		strbuf_printf(&text,
		              "2518 %s R " BEFORE "4194304 5 140730720248736" AFTER
		              "140730720250544 140730720250572 0 0 0\n",
		              names[i]);
		assert_int_equal(program_identity_parse(strbuf_view(&text), &identity, &err), 0);
		assert_int_equal(identity.start_code, 4194304);
		assert_int_equal(identity.start_stack, 140730720248736);
		assert_int_equal(identity.arg_start, 140730720250544);
		assert_int_equal(identity.inode, 7);
	}
	strbuf_fini(&text);
}

static void what_is_hidden_or_cut_is_not_there(void **state)
{
	static const char *const texts[] = {
		"",
		"2518 (x) R",
		"no stat at all",
		"2518 (x) R " BEFORE "1 1 0" AFTER "0 0 0 0 0\n", /* as an ordinary user sees it */
		"2518 (x) R " BEFORE "4194304 5 140730720248736",
	};
	struct exec_identity identity;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(program_identity_parse(str_of(texts[i]), &identity, &err), -1);
		assert_int_equal(err.code, ERROR_NOT_FOUND);
	}
}

static void a_process_has_the_inode_of_its_executable(void **state)
{
	struct exec_identity identity;
	struct stat status;
	struct error err;

	(void)state;
	assert_int_equal(program_identity_read((uint32_t)getpid(), &identity, &err), 0);
	assert_int_equal(stat("/proc/self/exe", &status), 0);
	assert_int_equal(identity.inode, status.st_ino);
	/* its stack lies above a local variable, its arguments above its stack's start */
	assert_true(identity.start_stack > (uintptr_t)&status);
	assert_true(identity.arg_start > identity.start_stack);
	assert_int_equal(program_identity_read(UINT32_MAX, &identity, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_three_addresses_are_found_behind_any_name),
		cmocka_unit_test(what_is_hidden_or_cut_is_not_there),
		cmocka_unit_test(a_process_has_the_inode_of_its_executable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
