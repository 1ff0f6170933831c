/*
 * Devices that are asked in time with ticks: what they say, and what is booked of them.
 *
 * Shape    a tick that is due asks once, and waits for the answer DEVICE_WAIT_NS at most, so
 *          that both are of one moment; where no answer will come soon it does not wait.
 *          Without a library, or on another machine's events, there is nothing to ask, and
 *          nothing waits.
 * Units    nanoseconds of the monotonic clock.
 * Errors   trouble is told for whoever logs (device_watch.h).
 * Threads  none but the watch's own: the collector's.
 * Source   collector specification 2.5, 3.5
 */
#pragma once

#include "collector/live/device_books.h"
#include "collector/nvml/device_watch.h"

#define DEVICE_WAIT_NS (INT64_C(100) * 1000000) /* a guess: devices take some milliseconds */

struct device_round_options {
	const char *proc;      /* that lists devices; NULL: events are of another machine */
	const char *nvml;      /* path of the library; "": where it is; NULL: nobody is asked */
	const char *host_root; /* where it may be, too; NULL: nowhere else */
	int64_t interval_ns;   /* of ticks */
};

struct device_round;

struct device_round *device_round_open(const struct device_round_options *options)
	__attribute__((returns_nonnull));

/* NULL is fine. */
void device_round_close(struct device_round *round);

/* What is known of them; it ends with the round. */
struct device_books *device_round_books(struct device_round *round);

/* Readable when there is something to take, or trouble; -1: never. */
int device_round_descriptor(const struct device_round *round);

/* Takes what they have said into the books; false: nothing new. */
bool device_round_take(struct device_round *round);

enum device_trouble device_round_trouble(struct device_round *round, struct error *out);

/* Asks them at once, for something else than a tick. */
void device_round_ask(struct device_round *round);

/* For a tick that is due: asks, once, and says whether the tick need not wait any more. */
bool device_round_is_over(struct device_round *round);

/* Until when it waits; INT64_MAX: it does not. */
int64_t device_round_due_mono_ns(const struct device_round *round);

/* The tick was made: the next one asks anew. */
void device_round_finish(struct device_round *round);
