#include "collector/health_report.h"

#include <assert.h>

/* What was lost behind the source. */
static void add_own_losses(struct health_report *report, const struct call_stacks *stacks,
                           uint64_t dropped)
{
	struct named_count *out = report->losses + report->health.dropped_count;
	struct call_stacks_counts counts;

	call_stacks_counts(stacks, &counts);
	out[0] = (struct named_count){ "stack_truncated", counts.truncated };
	out[1] = (struct named_count){ "unwind_failed", counts.broken };
	out[2] = (struct named_count){ "proc_gone", counts.gone };
	out[3] = (struct named_count){ "proc_refused", counts.refused };
	out[4] = (struct named_count){ "code_unnamed", counts.unnamed };
	out[5] = (struct named_count){ "profile_too_large", dropped };
	report->health.dropped_count += HEALTH_LOSSES_OWN;
}

void health_report_make(struct health_report *report, const struct event_source *source,
                        const struct call_stacks *stacks, const struct memory_tick *tick)
{
	const struct memory_tick_counts counts = memory_tick_counts(tick);
	struct collector_health *health = &report->health;

	*report = (struct health_report){
		.oom_reports = { { "reported", counts.ooms.reported },
		                 { "bare", counts.ooms.bare },
		                 { "limited", counts.ooms.limited },
		                 { "gone", counts.ooms.gone } },
	};
	if (source->health)
		source->health(source->context, health);
	assert(health->dropped_count <= HEALTH_LOSSES_MAX - HEALTH_LOSSES_OWN);
	for (size_t i = 0; i < health->dropped_count; i++)
		report->losses[i] = health->dropped[i];
	add_own_losses(report, stacks, counts.dropped);
	health->dropped = report->losses;
	health->oom_reports = report->oom_reports;
	health->oom_report_count = HEALTH_OOM_REPORTS;
}
