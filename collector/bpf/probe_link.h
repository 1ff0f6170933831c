/*
 * Two programs on all probed functions of one file: one at their entries, one at their
 * returns.
 *
 * Shape    one multi-uprobe link for each program where the kernel has them (Linux 6.6), else
 *          a perf event for each function and program (5.15). All processes that map the
 *          file have the probes, now and later.
 * Errors   ERROR_FORBIDDEN when a capability is missing, else ERROR_IO.
 * Threads  none; closing perf events takes 0.1 s each: do it in a thread of its own.
 * Source   collector specification 4.1
 */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/bpf/probe_points.h"

struct bpf_program;

/* The attach type of a program for multi-uprobe links: to be set before it is loaded. */
#define PROBE_LINK_MULTI_ATTACH_TYPE 48

enum probe_method {
	PROBE_METHOD_BEST,
	PROBE_METHOD_MULTI,
	PROBE_METHOD_PERF,
};

struct probe_link;

/* Whether this kernel has multi-uprobe links. */
bool probe_link_has_multi(void);

/* `descriptor` is the open file. `method` is not BEST. */
int probe_link_open(int descriptor, const struct probe_points *points,
                    const struct bpf_program *enter, const struct bpf_program *leave,
                    enum probe_method method, struct probe_link **out, struct error *err);

/* NULL is fine. */
void probe_link_close(struct probe_link *link);
