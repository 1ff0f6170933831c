/*
 * The two clocks, told apart by name: `unix` may jump, `mono` never does.
 *
 * Units    nanoseconds.
 * Threads  any. clock_warp_unix() is for tests and soaks, before threads start.
 */
#pragma once

#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

int64_t clock_unix_ns(void);
int64_t clock_mono_ns(void);
int64_t clock_boot_ns(void); /* as mono, and goes on while the machine sleeps */

/* What the calling thread has cost so far. */
int64_t clock_thread_cpu_ns(void);

/*
 * Makes clock_unix_ns() run `factor` times as fast from now on, starting at
 * start_unix_ns. A factor of 0 is the system's time again.
 */
void clock_warp_unix(int64_t start_unix_ns, double factor);
