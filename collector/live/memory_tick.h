/*
 * What is published at a tick: the profiles of every process, into a sink.
 *
 * Shape    for each process and class one profile with four values a stack: bytes and
 *          calls since the last tick, live bytes and blocks at this one; one of all its
 *          classes as other collectors had it (malloc); one for each error of failed
 *          calls. Each byte that was allocated is in exactly one tick. What is live is
 *          written at each tick, else means over time are wrong; a process that runs and
 *          holds nothing has a profile without samples, and one such profile a tick says
 *          that this machine was watched.
 *          A process whose identity is late is in no tick; its deltas are in the first one
 *          after it is settled.
 *          A peak is what was live, by stack, at the highest point of a window of minutes:
 *          one for each process and window, with the exact time of that point, unless the
 *          one before was as high; and one at the end of the process. Without the label
 *          `pid` processes of one service share a series: their peaks are nanoseconds
 *          apart, so that the highest is that of one process, and never a sum.
 *          A device has one profile a tick, of what it last said of itself, if it has said
 *          something since the tick before.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 3.2, 3.3, 3.4, 3.6, 6.4
 */
#pragma once

#include "collector/live/device_books.h"
#include "collector/live/gpu_process.h"
#include "collector/live/oom_reports.h"
#include "collector/live/series_batch.h"

/* What is in the series that has the name and labels of other collectors. */
enum malloc_series {
	MALLOC_SERIES_ALL,    /* every class but registered memory */
	MALLOC_SERIES_STRICT, /* calls of the four functions that Inspektor Gadget counts; of
	                         lost ones only those whose function is known */
	MALLOC_SERIES_OFF,
};

struct memory_tick_options {
	struct series_batch_options series;
	struct device_books *devices; /* NULL: nobody knows of any */
	int64_t peak_window_ns;       /* on multiples of the wall clock */
	enum malloc_series malloc_series;
	const char *malloc_service_name; /* of all processes; NULL or "": each its own */
};

enum memory_tick_moment {
	MEMORY_TICK_USUAL,
	MEMORY_TICK_LAST, /* no other will come: peaks too are told as they are */
};

struct memory_tick;

/* Tables and devices outlive it; options are copied, their texts are not. */
struct memory_tick *memory_tick_new(const struct memory_tick_options *options,
                                    struct gpu_process_table *processes, struct stack_table *stacks)
	__attribute__((returns_nonnull));
void memory_tick_free(struct memory_tick *tick);
DEFINE_FREEP(memory_tick)

/*
 * A call of a process, once its event is booked: when that was dates a highest point, and
 * for want of memory a report is begun (oom_reports.h).
 */
void memory_tick_see(struct memory_tick *tick, struct gpu_process *process,
                     const struct cuda_event *event, uint32_t stack, int64_t unix_ns);

/*
 * The process runs another program since then (gpu_process_table_exec()): reports that wait
 * are of the former one.
 */
void memory_tick_exec(struct memory_tick *tick, struct gpu_process *process, uint64_t time_ns);

/* A picture of devices was taken, and processes have theirs: reports that wait for it go on. */
void memory_tick_see_devices(struct memory_tick *tick);

/* Whether one waits for it. */
bool memory_tick_wants_devices(const struct memory_tick *tick);

/* When something is due before the next tick; INT64_MAX: nothing is. And its publishing. */
int64_t memory_tick_due_mono_ns(const struct memory_tick *tick);
void memory_tick_publish_due(struct memory_tick *tick, int64_t now_mono_ns);

/*
 * Publishes, starts the deltas anew, and throws away stacks that nothing refers to any
 * more.
 */
void memory_tick_publish(struct memory_tick *tick, struct stack_profile_time time,
                         enum memory_tick_moment moment);

struct memory_tick_counts {
	uint64_t dropped; /* profiles that did not fit any push; it should stay 0 */
	struct oom_counts ooms;
};

struct memory_tick_counts memory_tick_counts(const struct memory_tick *tick);
