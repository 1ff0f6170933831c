#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collector/identity/process_start.h"

/* proc(5): pid (comm) state ppid pgrp session tty tpgid flags ... starttime is the 22nd. */
#define BEFORE "S 1 1 1 0 -1 4194560 5 6 7 8 9 10 11 12 20 0 1 0 "

static void the_start_is_the_twenty_second_field(void **state)
{
	uint64_t start_ns = 0;

	(void)state;
	assert_true(process_start_parse(STR("41 (app) " BEFORE "1234567 9999 88\n"), &start_ns));
	assert_true(start_ns == UINT64_C(12345670000000)); /* ticks of 10 ms */
	assert_true(process_start_parse(STR("41 (app) " BEFORE "0"), &start_ns));
	assert_true(start_ns == 0);
}

static void a_name_may_look_like_the_rest(void **state)
{
	uint64_t start_ns = 0;

	(void)state;
	assert_true(process_start_parse(STR("41 () S 1 (x) 2 3) " BEFORE "7 9"), &start_ns));
	assert_true(start_ns == 70000000);
}

static void text_that_is_no_stat_has_no_start(void **state)
{
	static const char *const texts[] = {
		"",
		"41",
		"41 (app)",
		"41 (app) S 1 1",
		"41 (app) " BEFORE "-7 9",
		"41 (app) " BEFORE "7x 9",
		"41 (app) " BEFORE "18446744073709551615 9", /* times 10^7 is no 64 bits */
	};
	uint64_t start_ns = 5;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(process_start_parse(str_of(texts[i]), &start_ns));
	assert_true(start_ns == 5);
}

static void our_own_start_is_before_now(void **state)
{
	const uint64_t now_ns = (uint64_t)clock_boot_ns();
	uint64_t start_ns = 0;

	(void)state;
	assert_true(process_start_read("/proc", (uint32_t)getpid(), &start_ns));
	assert_true(start_ns <= now_ns && now_ns - start_ns < UINT64_C(600) * NS_PER_S);
	assert_true(process_start_shown(start_ns + 9999999) == start_ns);
	assert_false(process_start_read("/nowhere", (uint32_t)getpid(), &start_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_start_is_the_twenty_second_field),
		cmocka_unit_test(a_name_may_look_like_the_rest),
		cmocka_unit_test(text_that_is_no_stat_has_no_start),
		cmocka_unit_test(our_own_start_is_before_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
