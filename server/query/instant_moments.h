/*
 * What was live at each moment, over the series that tell of it: of a maximum not one series
 * counts, but the moment. A process with memory on several devices tells its highest point
 * with a series for each.
 *
 * Shape    a moment is a time of one instant_moment_key(); its sum grows while its parts are
 *          added, so the largest sum of all is found on the way.
 * Errors   false when the arena is full.
 * Threads  none.
 * Source   collector specification 3.4
 */
#pragma once

#include "profile/intern.h"

/* Zeroed, it is empty. */
struct instant_moments {
	struct intern ids;
	int64_t *sums; /* by id */
	size_t capacity;
};

/* Adds `total` to the moment; *out_sum is what it has now. */
bool instant_moments_add(struct instant_moments *moments, struct arena *arena, struct hash128 key,
                         int64_t time_unix_ns, int64_t total, int64_t *out_sum);
