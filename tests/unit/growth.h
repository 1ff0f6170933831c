/*
 * That work grows as its input does: by CPU time, of two sizes in one run, so that neither
 * the machine nor a sanitizer matters.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define GROWTH_FACTOR 8
#define GROWTH_MOST   24 /* times the time: in square it is 64 */
#define GROWTH_TRIES  3  /* the least counts */

/* Makes an input of about that size and works on it. */
typedef void (*growth_work)(size_t size);

static inline int64_t growth_cpu_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline int64_t growth_time_ns(growth_work work, size_t size)
{
	int64_t least_ns = INT64_MAX;

	for (int i = 0; i < GROWTH_TRIES; i++) {
		const int64_t began_ns = growth_cpu_ns();
		int64_t took_ns;

		work(size);
		took_ns = growth_cpu_ns() - began_ns;
		least_ns = took_ns < least_ns ? took_ns : least_ns;
	}
	return least_ns;
}

/* `size` is large enough that the work takes more than its beginning does. */
static inline void growth_is_linear(growth_work work, size_t size)
{
	const int64_t small_ns = growth_time_ns(work, size);
	const int64_t large_ns = growth_time_ns(work, GROWTH_FACTOR * size);

	if (large_ns > GROWTH_MOST * small_ns)
		fail_msg("%d times the input takes %lld times as long: %lld ns, then %lld ns",
		         GROWTH_FACTOR, (long long)(large_ns / small_ns), (long long)small_ns,
		         (long long)large_ns);
}
