/*
 * What the parts of the collector know of themselves, gathered for its metrics.
 *
 * Shape    one struct that holds what its own health refers to: it is not moved.
 * Threads  none: the collector's.
 * Source   collector specification 3.5
 */
#pragma once

#include "collector/call_stacks.h"
#include "collector/event_source.h"
#include "collector/live/memory_tick.h"

#define HEALTH_LOSSES_OWN  6  /* kinds of losses behind the source */
#define HEALTH_LOSSES_MAX  32 /* with those of the source */
#define HEALTH_OOM_REPORTS 4

struct health_report {
	struct collector_health health;
	struct named_count losses[HEALTH_LOSSES_MAX];
	struct named_count oom_reports[HEALTH_OOM_REPORTS];
};

void health_report_make(struct health_report *report, const struct event_source *source,
                        const struct call_stacks *stacks, const struct memory_tick *tick);
