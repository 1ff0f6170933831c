#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"

static void the_unix_clock_is_the_systems(void **state)
{
	const int64_t before = (int64_t)time(NULL);
	const int64_t now_ns = clock_unix_ns();
	const int64_t after = (int64_t)time(NULL);

	(void)state;
	/* time() may lag behind by a tick */
	assert_true(now_ns / NS_PER_S >= before - 1 && now_ns / NS_PER_S <= after + 1);
}

static void the_monotonic_clock_never_goes_back(void **state)
{
	int64_t before_ns = clock_mono_ns();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		const int64_t now_ns = clock_mono_ns();

		assert_true(now_ns >= before_ns);
		before_ns = now_ns;
	}
}

static void a_warped_clock_runs_as_told(void **state)
{
	const int64_t start_ns = INT64_C(1767225600) * NS_PER_S; /* 2026-01-01 */
	const int64_t real_start_ns = clock_mono_ns();
	int64_t now_ns;
	int64_t real_ns;

	(void)state;
	clock_warp_unix(start_ns, 1000);
	while ((now_ns = clock_unix_ns()) < start_ns + NS_PER_S)
		continue;
	real_ns = clock_mono_ns() - real_start_ns;
	assert_true(real_ns >= NS_PER_MS - NS_PER_US);
	assert_true(now_ns - start_ns <= real_ns * 1000 + NS_PER_US);
	clock_warp_unix(0, 0);
	the_unix_clock_is_the_systems(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_unix_clock_is_the_systems),
		cmocka_unit_test(the_monotonic_clock_never_goes_back),
		cmocka_unit_test(a_warped_clock_runs_as_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
