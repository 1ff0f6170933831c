#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/rate_limit.h"

#define RATE  1000.0
#define BURST 500.0

static void a_bucket_passes_its_burst_and_then_its_rate(void **state)
{
	CLEANUP(rate_limit_freep) struct rate_limit *limit = rate_limit_new();
	int64_t now_ns = NS_PER_S;

	(void)state;
	assert_true(rate_limit_take(limit, STR("a"), 500, RATE, BURST, now_ns));
	assert_false(rate_limit_take(limit, STR("a"), 1, RATE, BURST, now_ns));
	now_ns += NS_PER_S / 10; /* 100 bytes more */
	assert_false(rate_limit_take(limit, STR("a"), 101, RATE, BURST, now_ns));
	assert_true(rate_limit_take(limit, STR("a"), 100, RATE, BURST, now_ns));
	now_ns += 3600 * NS_PER_S; /* full, and no fuller */
	assert_true(rate_limit_take(limit, STR("a"), 500, RATE, BURST, now_ns));
	assert_false(rate_limit_take(limit, STR("a"), 1, RATE, BURST, now_ns));
}

static void to_ask_takes_nothing(void **state)
{
	CLEANUP(rate_limit_freep) struct rate_limit *limit = rate_limit_new();

	(void)state;
	assert_true(rate_limit_has(limit, STR("a"), 500, RATE, BURST, 0));
	assert_false(rate_limit_has(limit, STR("a"), 501, RATE, BURST, 0));
	assert_true(rate_limit_take(limit, STR("a"), 400, RATE, BURST, 0));
	assert_true(rate_limit_has(limit, STR("a"), 100, RATE, BURST, 0));
	assert_true(rate_limit_has(limit, STR("a"), 100, RATE, BURST, 0));
	assert_false(rate_limit_has(limit, STR("a"), 101, RATE, BURST, 0));
	assert_true(rate_limit_has(limit, STR("a"), 101, RATE, BURST, NS_PER_S));
	assert_true(rate_limit_has(limit, STR("b"), 500, RATE, BURST, 0));
}

static void what_is_larger_than_the_burst_never_passes(void **state)
{
	CLEANUP(rate_limit_freep) struct rate_limit *limit = rate_limit_new();

	(void)state;
	assert_false(rate_limit_take(limit, STR("a"), 501, RATE, BURST, 0));
	assert_false(rate_limit_take(limit, STR("a"), 501, RATE, BURST, 3600 * NS_PER_S));
}

static void tenants_do_not_share_a_bucket(void **state)
{
	CLEANUP(rate_limit_freep) struct rate_limit *limit = rate_limit_new();

	(void)state;
	assert_true(rate_limit_take(limit, STR("a"), 500, RATE, BURST, 0));
	assert_true(rate_limit_take(limit, STR("b"), 500, RATE, BURST, 0));
	assert_false(rate_limit_take(limit, STR("a"), 1, RATE, BURST, 0));
}

static void no_rate_is_no_limit(void **state)
{
	CLEANUP(rate_limit_freep) struct rate_limit *limit = rate_limit_new();

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_true(rate_limit_take(limit, STR("a"), 1e12, 0, BURST, 0));
}

static void a_clock_that_stands_still_fills_nothing(void **state)
{
	CLEANUP(rate_limit_freep) struct rate_limit *limit = rate_limit_new();

	(void)state;
	assert_true(rate_limit_take(limit, STR("a"), 500, RATE, BURST, NS_PER_S));
	assert_false(rate_limit_take(limit, STR("a"), 1, RATE, BURST, 0));
}

static void more_tenants_than_buckets_are_served(void **state)
{
	CLEANUP(rate_limit_freep) struct rate_limit *limit = rate_limit_new();
	char name[32];

	(void)state;
	for (int i = 0; i < 2 * RATE_LIMIT_TENANTS_MAX; i++) {
		const int length = snprintf(name, sizeof(name), "tenant-%d", i);

		assert_true(rate_limit_take(limit, str_make(name, (size_t)length), 500, RATE, BURST,
		                            i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_passes_its_burst_and_then_its_rate),
		cmocka_unit_test(to_ask_takes_nothing),
		cmocka_unit_test(what_is_larger_than_the_burst_never_passes),
		cmocka_unit_test(tenants_do_not_share_a_bucket),
		cmocka_unit_test(no_rate_is_no_limit),
		cmocka_unit_test(a_clock_that_stands_still_fills_nothing),
		cmocka_unit_test(more_tenants_than_buckets_are_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
