#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collector/live/tick_clock.h"

#define INTERVAL (15 * NS_PER_S)
#define MIDNIGHT (INT64_C(1700006400) * NS_PER_S) /* a multiple of the interval */

static void ticks_are_at_multiples_of_the_interval(void **state)
{
	struct tick_clock clock;
	struct stack_profile_time tick;

	(void)state;
	tick_clock_init(&clock, INTERVAL, MIDNIGHT + 4 * NS_PER_S);
	assert_int_equal(tick_clock_wait(&clock, MIDNIGHT + 4 * NS_PER_S), 11 * NS_PER_S);
	assert_int_equal(tick_clock_wait(&clock, MIDNIGHT + 15 * NS_PER_S), 0);
	tick = tick_clock_take(&clock, MIDNIGHT + 15 * NS_PER_S + 1234);
	assert_int_equal(tick.unix_ns, MIDNIGHT + 15 * NS_PER_S);
	assert_int_equal(tick.duration_ns, 11 * NS_PER_S); /* since the start */
	tick = tick_clock_take(&clock, MIDNIGHT + 30 * NS_PER_S);
	assert_int_equal(tick.unix_ns, MIDNIGHT + 30 * NS_PER_S);
	assert_int_equal(tick.duration_ns, INTERVAL);
}

static void missed_ticks_become_one(void **state)
{
	struct tick_clock clock;
	struct stack_profile_time tick;

	(void)state;
	tick_clock_init(&clock, INTERVAL, MIDNIGHT);
	tick = tick_clock_take(&clock, MIDNIGHT + 100 * NS_PER_S);
	assert_int_equal(tick.unix_ns, MIDNIGHT + 90 * NS_PER_S);
	assert_int_equal(tick.duration_ns, 90 * NS_PER_S);
	assert_int_equal(tick_clock_wait(&clock, MIDNIGHT + 100 * NS_PER_S), 5 * NS_PER_S);
}

static void a_clock_that_was_set_back_ticks_on(void **state)
{
	struct tick_clock clock;
	struct stack_profile_time tick;

	(void)state;
	tick_clock_init(&clock, INTERVAL, MIDNIGHT);
	(void)tick_clock_take(&clock, MIDNIGHT + INTERVAL);
	assert_int_equal(tick_clock_wait(&clock, MIDNIGHT - 3600 * NS_PER_S), 0);
	tick = tick_clock_take(&clock, MIDNIGHT - 3600 * NS_PER_S);
	assert_int_equal(tick.duration_ns, INTERVAL);
	assert_int_equal(tick_clock_wait(&clock, MIDNIGHT - 3600 * NS_PER_S), INTERVAL);
}

static void the_last_tick_is_now(void **state)
{
	struct tick_clock clock;
	struct stack_profile_time tick;

	(void)state;
	tick_clock_init(&clock, INTERVAL, MIDNIGHT);
	tick = tick_clock_finish(&clock, MIDNIGHT + 3);
	assert_int_equal(tick.unix_ns, MIDNIGHT + 3);
	assert_int_equal(tick.duration_ns, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_at_multiples_of_the_interval),
		cmocka_unit_test(missed_ticks_become_one),
		cmocka_unit_test(a_clock_that_was_set_back_ticks_on),
		cmocka_unit_test(the_last_tick_is_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
