/*
 * The wall clock, as far as something may be deleted because of it.
 *
 * Shape    a clock that jumped ahead is not believed at once: time goes on as before until
 *          the jump has stood for a while. So a clock that is wrong for some minutes, after
 *          a start or between two corrections, does not make a month of profiles too old.
 *          One that jumped back is believed: nothing becomes too old by that.
 * Units    nanoseconds; `boot` is clock_boot_ns().
 * Threads  one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define TRUSTED_TIME_JUMP_NS   (6 * 3600 * NS_PER_S) /* more than that at once; a guess */
#define TRUSTED_TIME_SETTLE_NS (3600 * NS_PER_S)     /* how long it is not believed; likewise */

struct trusted_time {
	int64_t offset_ns; /* of the wall clock, as it was last believed, to the boot clock */
	int64_t ahead_since_boot_ns;
	bool is_ahead;
};

/* `last_unix_ns`: when the clock was last believed by a process before this one. */
void trusted_time_init(struct trusted_time *time, int64_t last_unix_ns, int64_t boot_ns);

int64_t trusted_time_now(struct trusted_time *time, int64_t unix_ns, int64_t boot_ns);
