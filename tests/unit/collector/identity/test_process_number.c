#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/identity/process_number.h"
#include "tests/unit/collector/identity/machine_folder.h"

#define OURS   4026531836U
#define THEIRS 4026532500U

static void put_process(const char *proc, const char *process, uint32_t pid_namespace,
                        const char *numbers)
{
	char path[64];
	char text[128];
	char way[MACHINE_PATH_BYTES];

	(void)snprintf(path, sizeof(path), "/%s/status", process);
	(void)snprintf(text, sizeof(text), "Name:\tapp\nNStgid:\t1\nNSpid:\t%s\nNSpgid:\t1\n",
	               numbers);
	machine_put_file(proc, path, text);
	(void)snprintf(path, sizeof(path), "/%s/ns/pid", process);
	machine_make_way(proc, path, way);
	(void)snprintf(text, sizeof(text), "pid:[%u]", pid_namespace);
	assert_int_equal(symlink(text, way), 0);
}

static void a_process_is_found_by_its_innermost_number(void **state)
{
	char proc[] = "/tmp/test_number.XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(proc));
	put_process(proc, "self", OURS, "70");
	put_process(proc, "41", THEIRS, "41\t7");
	put_process(proc, "42", OURS, "42");
	assert_true(process_number_is_ours(proc, OURS));
	assert_false(process_number_is_ours(proc, THEIRS));
	assert_true(process_number_is(proc, 41, THEIRS, 7));
	assert_false(process_number_is(proc, 41, THEIRS, 41)); /* that is its number here */
	assert_false(process_number_is(proc, 41, OURS, 7));
	assert_true(process_number_is(proc, 42, OURS, 42));
	assert_false(process_number_is(proc, 43, THEIRS, 7));
	machine_remove(proc);
}

static void text_that_is_no_status_has_no_number(void **state)
{
	static const char *const texts[] = {
		"",
		"NSpid:",
		"NSpid:\t",
		"NSpid:\tx",
		"NSpid:\t4294967296",
		"NSpid:\t7\t-1",
		"XNSpid:\t7",
		"NSpid:\t0",
	};
	uint32_t number = 5;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(process_number_parse(str_of(texts[i]), &number));
	assert_true(process_number_parse(STR("Name:\tNSpid:\nNSpid:\t1\t2\t3"), &number));
	assert_int_equal(number, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_found_by_its_innermost_number),
		cmocka_unit_test(text_that_is_no_status_has_no_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
