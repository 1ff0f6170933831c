#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/recent_count.h"

#define START INT64_C(1000) /* s */

static void a_count_is_there_for_a_minute(void **state)
{
	struct recent_count recent;

	(void)state;
	recent_count_init(&recent);
	assert_int_equal(recent_count_sum(&recent, START * NS_PER_S), 0);
	recent_count_add(&recent, START * NS_PER_S, 3);
	recent_count_add(&recent, START * NS_PER_S + 999999999, 4);
	recent_count_add(&recent, (START + 30) * NS_PER_S, 5);
	assert_int_equal(recent_count_sum(&recent, (START + 30) * NS_PER_S), 12);
	assert_int_equal(recent_count_sum(&recent, (START + 59) * NS_PER_S), 12);
	assert_int_equal(recent_count_sum(&recent, (START + 60) * NS_PER_S), 5);
	assert_int_equal(recent_count_sum(&recent, (START + 89) * NS_PER_S), 5);
	assert_int_equal(recent_count_sum(&recent, (START + 90) * NS_PER_S), 0);
	recent_count_fini(&recent);
}

static void a_long_silence_leaves_nothing(void **state)
{
	struct recent_count recent;

	(void)state;
	recent_count_init(&recent);
	recent_count_add(&recent, START * NS_PER_S, 1);
	recent_count_add(&recent, (START + 1000000) * NS_PER_S, 2);
	assert_int_equal(recent_count_sum(&recent, (START + 1000000) * NS_PER_S), 2);
	/* one that comes late, by the clock of another thread, counts now */
	recent_count_add(&recent, (START + 999999) * NS_PER_S, 4);
	assert_int_equal(recent_count_sum(&recent, (START + 1000000) * NS_PER_S), 6);
	recent_count_fini(&recent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_count_is_there_for_a_minute),
		cmocka_unit_test(a_long_silence_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
