/*
 * Reports of allocations that found no memory: who wanted how much, by which code, and who
 * held what at that moment.
 *
 * Shape    a report is begun when a call fails with CUDA_ERROR_OUT_OF_MEMORY: the first of
 *          a process, then one a minute of it at most. What all processes on that GPU hold
 *          is copied then, by stack. A second later it is known whether the process has
 *          recovered (a call for as much has succeeded: allocators free their caches and
 *          try again), and the report is due: one profile of the call, and one of what
 *          each process held (gpu_memory_peak, reason="oom"), all with the time of the
 *          failed call. A report waits for processes whose names are late,
 *          and processes stay for it: also the program before an exec.
 *          What the device has is of the first picture that was begun after the failed
 *          call, if one comes within that second. Processes that are on another device for certain are left
 *          out.
 *          A storm costs no more than OOM_PENDING_MAX copies at a time and OOM_MINUTE_MAX
 *          reports a minute; what is not reported is counted, and stands among the failed
 *          calls of the tick all the same.
 * Units    bytes; nanoseconds: those of limits and of recovery are of events.
 * Errors   none: a report whose copy finds no room has none, and that is counted.
 * Threads  none: the collector's.
 * Source   collector specification 3.6
 */
#pragma once

#include "collector/live/device_books.h"
#include "collector/live/series_batch.h"

#define OOM_PENDING_MAX 4
#define OOM_MINUTE_MAX  20 /* of all processes; a guess, as the one above */
#define OOM_PROCESS_NS  (INT64_C(60) * 1000000000)
#define OOM_RECOVERY_NS (INT64_C(1) * 1000000000)

struct oom_counts {
	uint64_t reported;
	uint64_t bare;    /* of these, without what processes held: no room for a copy */
	uint64_t limited; /* calls that were not reported: too soon, or too many */
	uint64_t gone;    /* reports, and holders in one, of a program that is kept nowhere */
};

struct oom_reports;

/* Both outlive it; no devices (NULL): no report says what one has. */
struct oom_reports *oom_reports_new(const struct device_books *devices,
                                    struct gpu_process_table *processes)
	__attribute__((returns_nonnull));
void oom_reports_free(struct oom_reports *reports);
DEFINE_FREEP(oom_reports)

/* A call of the process, whose event was booked: it may begin a report, or recover one. */
void oom_reports_see(struct oom_reports *reports, struct gpu_process *process,
                     const struct cuda_event *event, uint32_t stack, int64_t unix_ns);

/*
 * The process runs another program: what waits, and says something of the one before, is of
 * `former`. NULL: that is kept nowhere, and what was to be said of it is dropped.
 */
void oom_reports_exec(struct oom_reports *reports, const struct gpu_process *process,
                      struct gpu_process *former);

/*
 * There is a picture of devices that was asked for since: reports that wait for one take
 * what the device of their process says. Whether any waits.
 */
void oom_reports_see_devices(struct oom_reports *reports);
bool oom_reports_want_devices(const struct oom_reports *reports);

/* When the next report is due, on the monotonic clock; INT64_MAX: there is none. */
int64_t oom_reports_due_mono_ns(const struct oom_reports *reports);

/* Publishes what is due by then; INT64_MAX: everything, as far as it is known. */
void oom_reports_publish(struct oom_reports *reports, struct series_batch *batch,
                         int64_t now_mono_ns);

struct oom_counts oom_reports_counts(const struct oom_reports *reports);

/* As stack_table_shrink() wants it: the stacks of reports that are not published yet. */
void oom_reports_mark(const struct oom_reports *reports, uint8_t *marks);
void oom_reports_renumber(struct oom_reports *reports, const uint32_t *stack_numbers);
