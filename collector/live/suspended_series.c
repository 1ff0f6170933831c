#include "collector/live/suspended_series.h"

#include "collector/live/profile_kinds.h"

static bool next_live(const void *rows, size_t *cursor, uint32_t *out_stack, int64_t *out_values)
{
	const struct memory_sums *sums = rows;

	while (*cursor < memory_sums_count(sums)) {
		const struct memory_sum *sum = memory_sums_at(sums, (uint32_t)(*cursor)++);

		if (sum->live_bytes == 0 || !cuda_class_is_gpu(sum->memory_class))
			continue;
		*out_stack = sum->stack;
		out_values[0] = wide_sum_value(sum->live_bytes);
		return true;
	}
	return false;
}

void suspended_series_add(struct series_batch *batch, const struct gpu_process *process,
                          struct stack_profile_time time)
{
	if (process->suspension == SUSPENSION_NONE || process->end_mono_ns != 0)
		return;
	series_batch_add(batch,
	                 &(struct series){
				 .kind = profile_kind(PROFILE_KIND_SUSPENDED),
				 .time = { time.unix_ns, 0 },
				 .scope = SERIES_OF_PROCESS,
				 .process = process,
				 .state = suspension_name(process->suspension),
				 .next = process->account.gpu_live_bytes > 0 ? next_live : NULL,
				 .rows = &process->account.sums,
			 });
}
