/*
 * The events of this machine: programs on the CUDA driver, and what tasks do.
 *
 * Errors   of opening: ERROR_FORBIDDEN with what is missing, ERROR_UNIMPLEMENTED when the
 *          kernel is too old, ERROR_IO.
 * Threads  none: the collector's.
 * Source   collector specification 4
 */
#pragma once

#include <stdbool.h>

#include "collector/event_source.h"
#include "collector/identity/process_identity.h"

struct kernel_source_options {
	uint32_t storm_limit; /* stacks of a process a second; 0: no limit */
	bool has_contexts;    /* of processes with several devices the contexts are watched */
	const char *const *libraries; /* as of watch_options; NULL: the usual ones */
	struct process_namer namer;   /* outlives the source; zeroed: /proc alone */
};

/* close() of the source detaches all. */
int kernel_source_open(const struct kernel_source_options *options, struct event_source *out,
                       struct error *err);
