/*
 * Two programs on all probed functions of one file: one at their entries, one at their
 * returns.
 *
 * Shape    one multi-uprobe link for each program where the kernel has them (Linux 6.6), else
 *          a perf event for each function and program (5.15). All processes that map the
 *          file have the probes, now and later; or one process alone, by multi-uprobe links.
 * Errors   ERROR_FORBIDDEN when a capability is missing, ERROR_NOT_FOUND when the process has
 *          ended, else ERROR_IO.
 * Threads  none; closing takes 0.1 s for each link or perf event: link_closer.h.
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

/*
 * Whether such a link may be for all threads of one process alone. The first kernels that had
 * it (6.6 to 6.9, as they were released) took the one thread for the process.
 */
bool probe_link_has_processes(void);

/* What is probed. */
struct probe_target {
	int descriptor; /* the open file */
	const struct probe_points *points;
	uint32_t tgid; /* one process, of multi-uprobe links; 0: all */
};

/* `method` is not BEST. */
int probe_link_open(const struct probe_target *target, const struct bpf_program *enter,
                    const struct bpf_program *leave, enum probe_method method,
                    struct probe_link **out, struct error *err);

/* NULL is fine. */
void probe_link_close(struct probe_link *link);
