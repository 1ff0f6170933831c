#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/proc_file.h"

static void a_file_is_read_up_to_the_room_there_is(void **state)
{
	char buffer[64];
	struct str text = proc_file_read("/proc/self/comm", buffer, sizeof(buffer));

	(void)state;
	assert_true(str_equals(text, "test_proc_file\n"));
	text = proc_file_read("/proc/self/comm", buffer, 4);
	assert_true(str_equals(text, "test"));
	assert_int_equal(proc_file_read("/proc/self/nothing", buffer, sizeof(buffer)).length, 0);
	assert_int_equal(proc_file_read("/proc/self", buffer, sizeof(buffer)).length, 0);
}

static void a_process_has_files_by_its_id(void **state)
{
	char buffer[64];
	const uint32_t own = (uint32_t)getpid();

	(void)state;
	assert_true(str_equals(proc_file_of("/proc", own, "comm", buffer, sizeof(buffer)),
	                       "test_proc_file\n"));
	assert_int_equal(proc_file_of("/nowhere", own, "comm", buffer, sizeof(buffer)).length, 0);
}

static void a_long_file_is_read_to_its_end_or_the_limit(void **state)
{
	char path[] = "/tmp/test_proc_file.XXXXXX";
	const int file = mkstemp(path);
	const size_t length = 100000;
	struct strbuf text;

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(ftruncate(file, (off_t)length), 0);
	strbuf_init(&text, 2 * length);
	assert_int_equal(proc_file_append(AT_FDCWD, path, &text), 0);
	assert_int_equal(strbuf_view(&text).length, length);
	assert_int_equal(proc_file_append(AT_FDCWD, "/proc/self/nothing", &text), -1);
	assert_int_equal(strbuf_view(&text).length, length);
	strbuf_fini(&text);
	strbuf_init(&text, 5000);
	assert_int_equal(proc_file_append(AT_FDCWD, path, &text), 0);
	assert_int_equal(strbuf_view(&text).length, 5000);
	strbuf_fini(&text);
	(void)close(file);
	(void)unlink(path);
}

/* As proc(5) numbers them: 1 pid, 2 name, 3 state, 4 ppid. */
static void fields_are_counted_behind_the_name(void **state)
{
	const struct str stat = STR("17 (a ) S 1 (b) R 99 7\n");

	(void)state;
	assert_true(str_equals(proc_stat_field(stat, 3), "R"));
	assert_true(str_equals(proc_stat_field(stat, 4), "99"));
	assert_true(str_equals(proc_stat_field(stat, 5), "7"));
	assert_int_equal(proc_stat_field(stat, 6).length, 0);
	assert_int_equal(proc_stat_field(STR(""), 3).length, 0);
	assert_int_equal(proc_stat_field(STR("17 (a"), 5).length, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read_up_to_the_room_there_is),
		cmocka_unit_test(a_process_has_files_by_its_id),
		cmocka_unit_test(a_long_file_is_read_to_its_end_or_the_limit),
		cmocka_unit_test(fields_are_counted_behind_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
