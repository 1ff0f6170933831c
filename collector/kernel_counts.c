#include "collector/kernel_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* Keeps the counters of a process for after the events that they count. */
static void take_counters(void *context, const struct process_counters *counters)
{
	const struct kernel_counts *all = context;
	const struct cuda_event first = { .tgid = counters->tgid,
		                          .process_start_ns = counters->start_ns };
	struct gpu_process *process = gpu_process_table_get(all->processes, &first);

	if (!process)
		return;
	memcpy(process->counters, counters->by_class, sizeof(process->counters));
	process->has_counters = true;
	process->has_exited |= counters->has_exited;
}

void kernel_counts_read(struct kernel_counts *counts)
{
	const struct event_source *source = counts->source;

	counts->count = gpu_process_table_count(counts->processes);
	counts->had_ended = mem_zalloc(counts->count + 1, sizeof(*counts->had_ended));
	for (size_t i = 0; i < counts->count; i++)
		counts->had_ended[i] = gpu_process_table_at(counts->processes, i)->end_mono_ns != 0;
	if (source->counters)
		source->counters(source->context, take_counters, counts);
}

void kernel_counts_fini(struct kernel_counts *counts)
{
	free(counts->had_ended);
	counts->had_ended = NULL;
}

static void settle(const struct kernel_counts *counts, struct gpu_process *process)
{
	const struct event_source *source = counts->source;

	gpu_account_close(&process->account); /* what was lost lives no longer either */
	process->is_settled = true;
	if (source->forget)
		source->forget(source->context, process->tgid, process->start_ns);
}

static void book(const struct kernel_counts *counts, struct gpu_process *process,
                 enum reconcile_moment moment)
{
	for (int i = 0; process->has_counters && i < CUDA_CLASS_COUNT; i++)
		gpu_account_reconcile(&process->account, (enum cuda_class)i, &process->counters[i],
		                      moment);
	process->has_counters = false;
	if (moment == RECONCILE_ENDED && !process->is_settled)
		settle(counts, process);
	if (!process->has_exited || process->end_mono_ns != 0)
		return;
	/* the event that said so was lost */
	call_stacks_end(counts->stacks, process->tgid, process->start_ns);
	gpu_process_end(process, clock_mono_ns());
}

void kernel_counts_book(const struct kernel_counts *counts)
{
	for (size_t i = 0; i < gpu_process_table_count(counts->processes); i++)
		book(counts, gpu_process_table_at(counts->processes, i),
		     i < counts->count && counts->had_ended[i] ? RECONCILE_ENDED
		                                               : RECONCILE_RUNNING);
}
