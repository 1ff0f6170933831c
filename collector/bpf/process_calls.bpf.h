// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What each process did, counted before anything is sent; and its share of stacks.
 *
 * The share is a token bucket in one word: the time up to which stacks are paid for. Each
 * stack moves it by 1/limit of a second; as long as it is no more than a burst ahead of now,
 * there is something left. Threads that race may take a stack too many each.
 */
#ifndef COLLECTOR_BPF_PROCESS_CALLS_BPF_H
#define COLLECTOR_BPF_PROCESS_CALLS_BPF_H

#include "collector/bpf/cuda_probe_shared.h"
#include "collector/bpf/kernel_types.bpf.h"
#include "collector/bpf/probe_loss.bpf.h"
#include "collector/bpf/ring_share.bpf.h"
#include "collector/bpf/task_ids.bpf.h"

const volatile __u64 storm_interval_ns = 0; /* between two stacks of a process; 0: no limit */
const volatile __u64 storm_burst_ns = 0;

/* User space deletes what has ended, once it has read it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESS_COUNT_MAX);
	__type(key, struct process_key);
	__type(value, struct process_calls);
} processes SEC(".maps");

static __always_inline struct process_key process_key_of(const struct task_struct *task)
{
	return (struct process_key){
		.start_ns = task->group_leader->start_boottime,
		.tgid = task_tgid(task),
	};
}

/*
 * The counters of a process, or those of the ones without a place. NULL: it is of no concern,
 * since it is not in the pid namespace of user space.
 */
static __always_inline struct process_calls *process_calls_of(const struct process_key *key)
{
	static const struct process_calls nothing;
	static const struct process_key without_place;
	struct process_calls *calls;

	if (key->tgid == 0)
		return 0;
	calls = bpf_map_lookup_elem(&processes, key);
	if (calls)
		return calls;
	bpf_map_update_elem(&processes, key, &nothing, BPF_NOEXIST);
	calls = bpf_map_lookup_elem(&processes, key);
	if (calls) {
		ring_share_begin(calls, bpf_ktime_get_boot_ns());
		return calls;
	}
	probe_loss_count(LOSS_PROCESS_FULL);
	return bpf_map_lookup_elem(&processes, &without_place);
}

/* Whether the process may have another stack copied; if so, it is paid for. */
static __always_inline int process_calls_pay_stack(struct process_calls *calls, __u64 now_ns)
{
	if (storm_interval_ns == 0)
		return 1;
	if (calls->storm_ns < now_ns)
		calls->storm_ns = now_ns;
	if (calls->storm_ns - now_ns > storm_burst_ns)
		return 0;
	__sync_fetch_and_add(&calls->storm_ns, storm_interval_ns);
	return 1;
}

#endif
