#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage/trusted_time.h"

#define HOUR   (3600 * NS_PER_S)
#define DAY    (24 * HOUR)
#define MINUTE (60 * NS_PER_S)
#define THEN   (20000 * DAY)

static void a_clock_that_goes_on_is_believed(void **state)
{
	struct trusted_time time;

	(void)state;
	trusted_time_init(&time, THEN, 0);
	for (int64_t at = 0; at < 30 * DAY; at += HOUR)
		assert_int_equal(trusted_time_now(&time, THEN + at, at), THEN + at);
	assert_false(time.is_ahead);
}

static void a_clock_that_jumps_ahead_is_believed_after_an_hour(void **state)
{
	struct trusted_time time;

	(void)state;
	trusted_time_init(&time, THEN, 0);
	for (int64_t at = MINUTE; at < HOUR + MINUTE; at += MINUTE) {
		assert_int_equal(trusted_time_now(&time, THEN + 40 * DAY + at, at), THEN + at);
		assert_true(time.is_ahead);
	}
	assert_int_equal(trusted_time_now(&time, THEN + 40 * DAY + HOUR + MINUTE, HOUR + MINUTE),
	                 THEN + 40 * DAY + HOUR + MINUTE);
	assert_false(time.is_ahead);
}

static void a_jump_that_is_taken_back_was_none(void **state)
{
	struct trusted_time time;

	(void)state;
	trusted_time_init(&time, THEN, 0);
	assert_int_equal(trusted_time_now(&time, THEN + 40 * DAY, 0), THEN);
	assert_int_equal(trusted_time_now(&time, THEN + 30 * MINUTE, 30 * MINUTE),
	                 THEN + 30 * MINUTE);
	assert_false(time.is_ahead);
	/* the next one has its own hour */
	assert_int_equal(trusted_time_now(&time, THEN + 40 * DAY + 59 * MINUTE, 59 * MINUTE),
	                 THEN + 59 * MINUTE);
	assert_int_equal(trusted_time_now(&time, THEN + 40 * DAY + 118 * MINUTE, 118 * MINUTE),
	                 THEN + 118 * MINUTE);
	assert_int_equal(trusted_time_now(&time, THEN + 40 * DAY + 119 * MINUTE, 119 * MINUTE),
	                 THEN + 40 * DAY + 119 * MINUTE);
}

static void a_clock_that_jumps_back_is_believed(void **state)
{
	struct trusted_time time;

	(void)state;
	trusted_time_init(&time, THEN, 0);
	assert_int_equal(trusted_time_now(&time, THEN - 40 * DAY, MINUTE), THEN - 40 * DAY);
	/* and then it goes right again, which is a jump */
	assert_int_equal(trusted_time_now(&time, THEN + 2 * MINUTE, 2 * MINUTE),
	                 THEN - 40 * DAY + MINUTE);
}

static void small_corrections_are_believed(void **state)
{
	struct trusted_time time;

	(void)state;
	trusted_time_init(&time, THEN, 0);
	assert_int_equal(trusted_time_now(&time, THEN + 6 * HOUR, 0), THEN + 6 * HOUR);
	assert_int_equal(trusted_time_now(&time, THEN + 12 * HOUR, 0), THEN + 12 * HOUR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_goes_on_is_believed),
		cmocka_unit_test(a_clock_that_jumps_ahead_is_believed_after_an_hour),
		cmocka_unit_test(a_jump_that_is_taken_back_was_none),
		cmocka_unit_test(a_clock_that_jumps_back_is_believed),
		cmocka_unit_test(small_corrections_are_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
