/*
 * What the tasks of this machine do, as the kernel tells it: files mapped for execution,
 * names, execs, forks, exits.
 *
 * Shape    an event of perf on each CPU with a buffer of its own; drained in the order of
 *          their times. A CPU that comes later is not watched.
 * Units    times are of the boot-time clock.
 * Errors   ERROR_FORBIDDEN without CAP_PERFMON, ERROR_IO.
 * Threads  none: the collector's.
 * Source   collector specification 4.3
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/watch/perf_record.h"

#define TASK_BUFFER_BYTES ((size_t)256 << 10) /* of a CPU: allowed without CAP_IPC_LOCK */
#define TASK_BUFFERS_MAX  ((size_t)8 << 20)   /* of all, unless they get too small */
#define TASK_BUFFER_MIN   ((size_t)32 << 10)

struct task_events;

/* Called for each record. */
struct task_event_handler {
	void (*record)(void *context, const struct perf_record *record);
	void *context;
};

int task_events_open(const struct task_event_handler *handler, struct task_events **out,
                     struct error *err);

/* NULL is fine. */
void task_events_close(struct task_events *events);

/* Readable (epoll) when there is something that was not there at the last drain. */
int task_events_descriptor(const struct task_events *events);

/*
 * Hands on what was there when it was called, and `limit` records at most. True when there are
 * more by now: nobody is woken for those.
 */
bool task_events_drain(struct task_events *events, size_t limit);

/* Records that found no place in a buffer; on kernels before 6.0 at least one, until it is told. */
uint64_t task_events_lost(const struct task_events *events);
