/*
 * What the kernel has counted of each process, beside what its events told.
 *
 * Shape    read the counters; take all events that were sent up to then; book the rest,
 *          which no event has told. Whoever had ended before the reading is done with.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 4.5
 */
#pragma once

#include "collector/call_stacks.h"
#include "collector/event_source.h"
#include "collector/live/gpu_process.h"

/* One reading. All three outlive it. */
struct kernel_counts {
	const struct event_source *source;
	struct gpu_process_table *processes;
	struct call_stacks *stacks;
	bool *had_ended; /* by process, at the reading */
	size_t count;
};

/* Sets the last two; fini() releases them. */
void kernel_counts_read(struct kernel_counts *counts);
void kernel_counts_book(const struct kernel_counts *counts);
void kernel_counts_fini(struct kernel_counts *counts);
