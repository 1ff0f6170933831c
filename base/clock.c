#include "base/clock.h"

#include <time.h>

/* Process-wide, as the clock is. A factor of 0 is the system's own time. */
static struct {
	int64_t start_unix_ns;
	int64_t start_mono_ns;
	double factor;
} warp;

static int64_t read_clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t clock_unix_ns(void)
{
	if (warp.factor > 0)
		return warp.start_unix_ns +
		       (int64_t)((double)(clock_mono_ns() - warp.start_mono_ns) * warp.factor);
	return read_clock_ns(CLOCK_REALTIME);
}

int64_t clock_mono_ns(void)
{
	return read_clock_ns(CLOCK_MONOTONIC);
}

int64_t clock_boot_ns(void)
{
	return read_clock_ns(CLOCK_BOOTTIME);
}

int64_t clock_thread_cpu_ns(void)
{
	return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void clock_warp_unix(int64_t start_unix_ns, double factor)
{
	warp.start_unix_ns = start_unix_ns;
	warp.start_mono_ns = clock_mono_ns();
	warp.factor = factor;
}
