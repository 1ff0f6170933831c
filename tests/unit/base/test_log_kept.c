#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log_kept.h"

static void the_newest_are_kept_and_come_first(void **state)
{
	struct log_kept_line lines[LOG_KEPT_MAX];
	char text[32];

	(void)state;
	assert_int_equal(log_kept_list(lines), 0);
	for (int i = 0; i < LOG_KEPT_MAX + 5; i++) {
		(void)snprintf(text, sizeof(text), "line %d", i);
		log_kept_add(i % 2 ? LOG_WARN : LOG_ERROR, str_of(text));
	}
	assert_int_equal(log_kept_list(lines), LOG_KEPT_MAX);
	assert_memory_equal(lines[0].message, "line 24", 7);
	assert_int_equal(lines[0].length, 7);
	assert_string_equal(log_level_name(lines[0].level), "error");
	assert_memory_equal(lines[LOG_KEPT_MAX - 1].message, "line 5", 6);
	assert_true(lines[0].time_unix_ns >= lines[1].time_unix_ns);
}

static void warnings_of_the_log_are_kept_and_what_is_less_is_not(void **state)
{
	struct log_kept_line lines[LOG_KEPT_MAX];

	(void)state;
	log_warn("the %s is full", "disk");
	log_info("all is well");
	(void)log_kept_list(lines);
	assert_int_equal(lines[0].length, strlen("the disk is full"));
	assert_memory_equal(lines[0].message, "the disk is full", lines[0].length);
	assert_int_equal(lines[0].level, LOG_WARN);
}

static void a_long_line_is_cut(void **state)
{
	struct log_kept_line lines[LOG_KEPT_MAX];
	char text[LOG_KEPT_MESSAGE + 10];

	(void)state;
	memset(text, 'x', sizeof(text));
	log_kept_add(LOG_WARN, str_make(text, sizeof(text)));
	(void)log_kept_list(lines);
	assert_int_equal(lines[0].length, LOG_KEPT_MESSAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_are_kept_and_come_first),
		cmocka_unit_test(warnings_of_the_log_are_kept_and_what_is_less_is_not),
		cmocka_unit_test(a_long_line_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
