// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which context is current in each thread, as the driver's functions make it: kept beside the
 * calls of the thread, since most of these functions are called far more often than memory is
 * allocated, and nobody is sent an event for them.
 *
 * What makes a context and ends one has probes everywhere. What else makes one current has
 * them only in processes that see several devices, while user space watches them: then an
 * entry stands in context_watches, with another number for each watch. What a thread had
 * before is not known, and is forgotten at its next call; from then on all is seen, but for
 * ways that have no name. Whoever tells which one is current gives them away: what was thought
 * otherwise is counted, and told once.
 *
 * Source   collector specification 2.5
 */
#ifndef COLLECTOR_BPF_CONTEXT_STACK_BPF_H
#define COLLECTOR_BPF_CONTEXT_STACK_BPF_H

#include "collector/bpf/call_arguments.bpf.h"
#include "collector/bpf/call_state.bpf.h"
#include "collector/bpf/cuda_probe_shared.h"
#include "collector/bpf/event_ring.bpf.h"
#include "collector/bpf/process_calls.bpf.h"

/* User space adds a process when all its probes are set. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CONTEXT_WATCHES_MAX);
	__type(key, struct process_key);
	__type(value, struct watched_contexts);
} context_watches SEC(".maps");

struct context_key {
	struct process_key process;
	__u64 handle;
};

/* The device that was told of a context, and as of when. */
struct told_device {
	__u64 number;
	struct watched_contexts when;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CONTEXTS_TOLD_MAX);
	__type(key, struct context_key);
	__type(value, struct told_device);
} contexts_told SEC(".maps");

/* Forgets what was before the watch that there is now, and returns it; NULL: there is none. */
static __always_inline const struct watched_contexts *
context_stack_follow(struct context_stack *stack, const struct process_key *process)
{
	const struct watched_contexts *watched = bpf_map_lookup_elem(&context_watches, process);
	const __u64 now = watched ? watched->watch : 0;

	if (stack->watch != now)
		*stack = (struct context_stack){ .watch = now };
	return watched;
}

/*
 * A context of the process has ended, by its handle or by its device; user space was told
 * before, and forgets what it was told of that one. So whatever was told is told again.
 */
static __always_inline void context_stack_count_end(const struct process_key *process)
{
	struct watched_contexts *watched = bpf_map_lookup_elem(&context_watches, process);

	if (watched)
		__sync_fetch_and_add(&watched->ends, 1);
}

/* The process ends, or runs another program: nothing that is kept is of that one. */
static __always_inline void context_stack_unwatch(const struct task_struct *task)
{
	const struct process_key process = process_key_of(task);

	bpf_map_delete_elem(&context_watches, &process);
}

static __always_inline void context_stack_push(struct context_stack *stack, __u64 handle)
{
	for (__u32 i = CONTEXTS_KEPT - 1; i > 0; i--)
		stack->handles[i] = stack->handles[i - 1];
	stack->handles[0] = handle;
}

static __always_inline void context_stack_pop(struct context_stack *stack)
{
	for (__u32 i = 0; i + 1 < CONTEXTS_KEPT; i++)
		stack->handles[i] = stack->handles[i + 1];
	stack->handles[CONTEXTS_KEPT - 1] = 0;
}

/* Of no context: none is current, but what was pushed before may be. */
static __always_inline void context_stack_set(struct context_stack *stack, __u64 handle)
{
	if (handle == 0)
		context_stack_pop(stack);
	else
		stack->handles[0] = handle;
}

/* It is popped where it is current in the thread that ends it, and stays elsewhere. */
static __always_inline void context_stack_end(struct context_stack *stack, __u64 handle)
{
	if (stack->handles[0] == handle)
		context_stack_pop(stack);
}

/* What the event says of the thread's context. */
static __always_inline void context_stack_tell(struct context_stack *stack,
                                               const struct process_key *process,
                                               struct cuda_event *event)
{
	if (stack->handles[0] == 0)
		return;
	context_stack_follow(stack, process);
	event->context = stack->handles[0];
	if (stack->watch != 0)
		event->flags |= CUDA_EVENT_CONTEXT_SEEN;
}

#endif
