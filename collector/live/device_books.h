/*
 * What devices say, beside what processes hold by our books.
 *
 * Shape    keeps the newest picture. It says which device each process is on: the one that
 *          counts it among those that hold memory, if that is one; else the one that
 *          gpu_choice.h is certain of; else DEVICE_UNKNOWN. A process keeps its device while
 *          no picture says otherwise.
 *          A picture that is older than some ticks is none: no number is better than a
 *          number of another time.
 * Units    bytes, nanoseconds of the monotonic clock.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 2.5, 3.5, 3.6
 */
#pragma once

#include "base/cleanup.h"
#include "collector/device_picture.h"
#include "collector/live/gpu_process.h"

struct device_books_options {
	const char *proc; /* that lists devices too; NULL: events are of another machine */
	int64_t stale_ns; /* an older picture is none */
};

/* What devices count for one process. */
struct held_devices {
	const struct device_holder *holders;
	size_t count;
};

static inline wide_sum held_devices_bytes(const struct held_devices *held)
{
	wide_sum sum = 0;

	for (size_t i = 0; i < held->count; i++)
		sum += held->holders[i].bytes;
	return sum;
}

struct device_books;

struct device_books *device_books_new(const struct device_books_options *options)
	__attribute__((returns_nonnull));
void device_books_free(struct device_books *books);
DEFINE_FREEP(device_books)

/* The picture is copied. */
void device_books_take(struct device_books *books, const struct device_picture *picture);

/* Sets `gpu` of all processes; of those that have ended it stays, if it was known. */
void device_books_settle(const struct device_books *books, struct gpu_process_table *processes);

/* Whether there is a picture that this function has not said yes to. */
bool device_books_has_new(struct device_books *books);

/* The newest picture, with its holders ordered by their ids; NULL: there is none. */
const struct device_picture *device_books_picture(const struct device_books *books);

/* How old the last picture is, stale or not; -1: there was none. */
int64_t device_books_age_ns(const struct device_books *books);

/* The device of that UUID, if it says what it has; or NULL. */
const struct device_reading *device_books_of(const struct device_books *books, const char *gpu);

/*
 * The holders of a process in the newest picture, of all devices; false: none, or they do not
 * all say what it holds, or it is suspended: then they say nothing of what its blocks hold.
 */
bool device_books_held(const struct device_books *books, const struct gpu_process *process,
                       struct held_devices *out);

/* Whether all devices say who holds memory of them, and the process is not among those. */
bool device_books_is_free_of(const struct device_books *books, const struct gpu_process *process);
