#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "storage/sealer.h"

/* So that what stays in the way does not cost half a seal at every look. */
static void what_is_in_the_way_is_waited_for_twice_as_long_each_time(void **state)
{
	(void)state;
	assert_int_equal(sealer_wait_ns(1), 2 * NS_PER_S);
	assert_int_equal(sealer_wait_ns(2), 4 * NS_PER_S);
	assert_int_equal(sealer_wait_ns(9), 512 * NS_PER_S);
}

static void nothing_is_waited_for_longer_than_ten_minutes(void **state)
{
	(void)state;
	assert_int_equal(sealer_wait_ns(10), 600 * NS_PER_S);
	assert_int_equal(sealer_wait_ns(64), 600 * NS_PER_S);
	assert_int_equal(sealer_wait_ns(UINT32_MAX), 600 * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_the_way_is_waited_for_twice_as_long_each_time),
		cmocka_unit_test(nothing_is_waited_for_longer_than_ten_minutes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
