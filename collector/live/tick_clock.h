/*
 * Ticks on the wall clock: at multiples of the interval, on every machine at once.
 *
 * Shape    a tick is the end of its interval. One that was missed (the machine slept, the
 *          clock was set) is not made up for: the next one covers the time since the last.
 * Units    nanoseconds.
 * Threads  none.
 * Source   collector specification 3.3
 */
#pragma once

#include <stdint.h>

#include "collector/live/stack_profile.h"

struct tick_clock {
	int64_t interval_ns;
	int64_t last_unix_ns; /* of the last tick, or the start */
	int64_t next_unix_ns;
};

void tick_clock_init(struct tick_clock *clock, int64_t interval_ns, int64_t now_unix_ns);

/* How long until the next tick; 0: it is due. */
int64_t tick_clock_wait(const struct tick_clock *clock, int64_t now_unix_ns);

/* The tick that is due at `now`: on the multiple, with the time since the last one. */
struct stack_profile_time tick_clock_take(struct tick_clock *clock, int64_t now_unix_ns);

/* A last one, now, wherever that is. */
struct stack_profile_time tick_clock_finish(struct tick_clock *clock, int64_t now_unix_ns);
