// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The outermost driver call of each thread, between its entry and its return.
 *
 * The driver may implement one function by another exported one; only the outermost counts.
 * A call is known by the stack pointer at its entry, where the return address lies. As long
 * as it is pending, that slot holds the trampoline of its return probe. So, for an entry while
 * a call is pending:
 *
 *   stack pointer          slot of the pending call    meaning
 *   lower or equal         the trampoline              nested (equal: reached by a jump)
 *   lower or equal         anything else               the pending call was left (longjmp), or
 *                                                      (equal) the same entry hits us twice
 *   higher                 whatever                    the pending call was left
 *
 * What was left is overwritten. A return counts if its stack pointer is that of the entry with
 * the return address popped, and takes the state with it, so a second one finds nothing; the
 * child of a fork inside a call is another thread and finds nothing either.
 */
#ifndef COLLECTOR_BPF_CALL_STATE_BPF_H
#define COLLECTOR_BPF_CALL_STATE_BPF_H

#include "collector/bpf/cuda_probe_shared.h"
#include "collector/bpf/kernel_types.bpf.h"
#include "collector/bpf/probe_loss.bpf.h"

#define RETURN_ADDRESS_BYTES 8 /* popped by the return */

struct call_state {
	__u64 stack_pointer; /* at the entry; 0: no call is pending */
	__u64 start_ns;
	__u64 address; /* the argument: where the result goes, or what is freed */
	__u64 bytes;
	__u32 function;
	__u32 reserved;
};

enum call_entry {
	CALL_OUTERMOST,
	CALL_NESTED,
	CALL_REPEATED, /* the same entry by a second probe on the same code */
};

const volatile __u32 use_task_storage = 1; /* 0: the hash alone */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_state);
} task_calls SEC(".maps");

/* Keyed by thread id; also for what task storage has no memory for at the moment. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREAD_CALLS_MAX);
	__type(key, __u32);
	__type(value, struct call_state);
} thread_calls SEC(".maps");

static __always_inline struct call_state *thread_call(void)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&thread_calls, &tid);
}

/* A place for the call of this thread, or NULL. */
static __always_inline struct call_state *call_state_place(struct task_struct *task)
{
	static const struct call_state none;
	struct call_state *state = NULL;
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();

	if (use_task_storage)
		state = bpf_task_storage_get(&task_calls, task, NULL,
		                             BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (state)
		return state;
	state = thread_call();
	if (state)
		return state;
	bpf_map_update_elem(&thread_calls, &tid, &none, BPF_NOEXIST);
	return thread_call();
}

/* Whether the slot of the pending call still holds the trampoline of its return probe. */
static __always_inline int is_pending(const struct call_state *state, struct task_struct *task)
{
	const struct xol_area *area = task->mm->uprobes_state.xol_area;
	__u64 slot = 0;

	if (!area || bpf_probe_read_user(&slot, sizeof(slot), (const void *)state->stack_pointer))
		return 0;
	return slot == area->vaddr;
}

/* Notes `call` in `state` unless it is nested. */
static __always_inline enum call_entry
call_state_enter(struct call_state *state, struct task_struct *task, const struct call_state *call)
{
	enum call_entry entry = CALL_OUTERMOST;

	if (state->stack_pointer != 0) {
		if (call->stack_pointer <= state->stack_pointer && is_pending(state, task)) {
			probe_loss_count(LOSS_NESTED_CALL);
			return CALL_NESTED;
		}
		if (call->stack_pointer == state->stack_pointer &&
		    call->function == state->function && call->address == state->address)
			entry = CALL_REPEATED;
		else
			probe_loss_count(LOSS_STALE_CALL);
	}
	*state = *call;
	return entry;
}

static __always_inline int take_if_matching(struct call_state *state, __u64 stack_pointer,
                                            struct call_state *out)
{
	if (!state || state->stack_pointer == 0 ||
	    state->stack_pointer + RETURN_ADDRESS_BYTES != stack_pointer)
		return 0;
	*out = *state;
	state->stack_pointer = 0;
	return 1;
}

/* Takes the pending call that returns to `stack_pointer`; 0 when there is none. */
static __always_inline int call_state_leave(struct task_struct *task, __u64 stack_pointer,
                                            struct call_state *out)
{
	if (use_task_storage &&
	    take_if_matching(bpf_task_storage_get(&task_calls, task, NULL, 0), stack_pointer, out))
		return 1;
	return take_if_matching(thread_call(), stack_pointer, out);
}

/* At the end of a thread; task storage goes with its task. */
static __always_inline void call_state_forget(void)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&thread_calls, &tid);
}

#endif
