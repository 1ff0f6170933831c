/*
 * The highest point of what a process holds in a window of time, by stack: exact, without
 * copies.
 *
 * Shape    each point that is higher than all before it in its window has a number. A sum
 *          that changes for the first time since the newest of them keeps what it was
 *          then; one that has not changed still is what it was. So a new highest point
 *          costs a number, a change costs a comparison, and what each stack held at the
 *          highest point is known to the byte whatever came behind it.
 *          Memory on GPUs alone counts (gpu_account.h).
 * Units    bytes.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 3.2, 3.4
 *
 * Invariant, asserted by gpu_account_check(): what the sums held at the highest point is
 * its bytes.
 */
#pragma once

#include "collector/live/wide_sum.h"

struct memory_sum;

struct high_water {
	uint64_t number; /* of the newest highest point */
	wide_sum bytes;
	int64_t unix_ns; /* when it was; 0: whoever books knows, and says so */
};

/* A window begins: what is live now is its highest point so far. */
void high_water_begin(struct high_water *high, wide_sum live_bytes, int64_t unix_ns);

/* Before the live bytes of a sum change, whichever way. */
void high_water_keep(const struct high_water *high, struct memory_sum *sum);

/* So much is live now. */
void high_water_rise(struct high_water *high, wide_sum live_bytes);

/* What the sum held at the highest point. */
wide_sum high_water_of(const struct high_water *high, const struct memory_sum *sum);
