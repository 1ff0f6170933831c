// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The driver calls of each thread, between their entries and their returns.
 *
 * The driver may implement one function by another exported one; only the outermost counts.
 * A call is known by the stack pointer at its entry, where the return address lies; as long as
 * it is pending, that slot holds the trampoline of its return probe. A call may also be left
 * without a return (longjmp), and then nobody tells us: its slot may keep the trampoline as
 * long as nothing is written there. So, for an entry while a call is pending:
 *
 *   its stack pointer   and                               means
 *   higher              -                                 the pending call was left
 *   equal               the slot holds the trampoline     nested: reached by a jump
 *   equal               the slot holds something else     the pending call was left, or the
 *                                                         same entry hits us twice
 *   lower               called from the library itself,   nested
 *                       the slot holds the trampoline
 *   lower               otherwise                         a call of its own: in a callback, or
 *                                                         after the pending one was left
 *
 * In the last case both are kept, for who is right is known only when the outer one returns.
 * A return counts if its stack pointer is that of an entry with the return address popped, and
 * takes the call with it, so a second one finds nothing; the child of a fork inside a call is
 * another thread and finds nothing either.
 */
#ifndef COLLECTOR_BPF_CALL_STATE_BPF_H
#define COLLECTOR_BPF_CALL_STATE_BPF_H

#include "collector/bpf/cuda_probe_shared.h"
#include "collector/bpf/kernel_types.bpf.h"
#include "collector/bpf/probe_cookie.h"
#include "collector/bpf/probe_loss.bpf.h"

#define RETURN_ADDRESS_BYTES 8 /* popped by the return */
#define CALLS_KEPT           4 /* of a thread: pending ones, and such that were left */
#define CONTEXTS_KEPT        8 /* of a thread: below them it is not known which */

struct pending_call {
	__u64 stack_pointer; /* at the entry; 0: none */
	__u64 start_ns;
	__u64 address; /* where the result goes, or what the call is about */
	__u64 bytes;
	__u64 other;
	__u16 function;
	__u8 role;         /* that of the function, or what its arguments make of it */
	__u8 memory_class; /* likewise */
	__u16 device;      /* 1 + its number; 0: not known */
	__u16 flags;       /* of cuda_event_flag */
};

/*
 * The contexts of a thread, the current one first; what is behind the last, and what nobody
 * has told, is 0. A thread without any has the same.
 */
struct context_stack {
	__u64 watch; /* since which watch of its process it is kept; 0: none */
	__u64 handles[CONTEXTS_KEPT];
};

/* Innermost first: their stack pointers ascend. */
struct call_state {
	struct pending_call calls[CALLS_KEPT];
	struct context_stack contexts;
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

/* The state of this thread, made if there is none, or NULL. */
static __always_inline struct call_state *call_state_of_thread(struct task_struct *task)
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

static __always_inline void pop_call(struct call_state *state)
{
	for (__u32 i = 0; i + 1 < CALLS_KEPT; i++)
		state->calls[i] = state->calls[i + 1];
	state->calls[CALLS_KEPT - 1].stack_pointer = 0;
}

static __always_inline void push_call(struct call_state *state, const struct pending_call *call)
{
	if (state->calls[CALLS_KEPT - 1].stack_pointer != 0)
		probe_loss_count(LOSS_STALE_CALL);
	for (__u32 i = CALLS_KEPT - 1; i > 0; i--)
		state->calls[i] = state->calls[i - 1];
	state->calls[0] = *call;
}

static __always_inline __u64 user_word(__u64 address)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (const void *)address);
	return word;
}

/* Whether the slot of a call still holds the trampoline of its return probe. */
static __always_inline int has_trampoline(const struct pending_call *call,
                                          const struct task_struct *task)
{
	const struct xol_area *area = task->mm->uprobes_state.xol_area;

	return area && user_word(call->stack_pointer) == area->vaddr;
}

/* Whether the function at `address` is called from its own library. */
static __always_inline int is_called_from_inside(const struct pending_call *call, __u64 address,
                                                 __u64 cookie)
{
	const __u64 page = address >> PROBE_COOKIE_PAGE_BITS;
	const __u64 caller = user_word(call->stack_pointer) >> PROBE_COOKIE_PAGE_BITS;

	return caller + probe_cookie_pages_before(cookie) >= page &&
	       caller <= page + probe_cookie_pages_behind(cookie);
}

static __always_inline int is_same_entry(const struct pending_call *a, const struct pending_call *b)
{
	return a->function == b->function && a->address == b->address;
}

/*
 * Notes `call` in `state` unless it is nested. `address` is that of the function, `cookie`
 * that of its probe.
 */
static __always_inline enum call_entry call_state_enter(struct call_state *state,
                                                        const struct task_struct *task,
                                                        const struct pending_call *call,
                                                        __u64 address, __u64 cookie)
{
	struct pending_call *last = &state->calls[0];
	enum call_entry entry = CALL_OUTERMOST;

	for (__u32 i = 0; i < CALLS_KEPT; i++) {
		if (last->stack_pointer == 0 || last->stack_pointer >= call->stack_pointer)
			break;
		probe_loss_count(LOSS_STALE_CALL);
		pop_call(state);
	}
	if (last->stack_pointer == 0) {
		*last = *call;
		return CALL_OUTERMOST;
	}
	if (has_trampoline(last, task) && (last->stack_pointer == call->stack_pointer ||
	                                   is_called_from_inside(call, address, cookie))) {
		probe_loss_count(LOSS_NESTED_CALL);
		return CALL_NESTED;
	}
	if (last->stack_pointer != call->stack_pointer) {
		push_call(state, call);
		return CALL_OUTERMOST;
	}
	if (is_same_entry(last, call))
		entry = CALL_REPEATED;
	else
		probe_loss_count(LOSS_STALE_CALL);
	*last = *call;
	return entry;
}

/* Takes the call that returns to `stack_pointer`, and with it those further in. */
static __always_inline int take_call(struct call_state *state, __u64 stack_pointer,
                                     struct pending_call *out)
{
	const __u64 entry = stack_pointer - RETURN_ADDRESS_BYTES;
	int found = 0;

	if (!state)
		return 0;
	for (__u32 i = 0; i < CALLS_KEPT; i++)
		found |= state->calls[i].stack_pointer == entry;
	if (!found)
		return 0;
	for (__u32 i = 0; i < CALLS_KEPT; i++) {
		if (state->calls[0].stack_pointer == entry)
			break;
		probe_loss_count(LOSS_STALE_CALL);
		pop_call(state);
	}
	*out = state->calls[0];
	pop_call(state);
	return 1;
}

/*
 * Takes the pending call that returns to `stack_pointer`; NULL when there is none, else the
 * state of the thread.
 */
static __always_inline struct call_state *
call_state_leave(struct task_struct *task, __u64 stack_pointer, struct pending_call *out)
{
	struct call_state *state = NULL;

	if (use_task_storage)
		state = bpf_task_storage_get(&task_calls, task, NULL, 0);
	if (take_call(state, stack_pointer, out))
		return state;
	state = thread_call();
	return take_call(state, stack_pointer, out) ? state : NULL;
}

/* At the end of a thread; task storage goes with its task. */
static __always_inline void call_state_forget(void)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&thread_calls, &tid);
}

/* The same where it goes on with another program, which has none of these calls. */
static __always_inline void call_state_forget_program(struct task_struct *task, __u64 id_before)
{
	const __u32 tid = (__u32)id_before;

	call_state_forget();
	bpf_map_delete_elem(&thread_calls, &tid);
	if (use_task_storage)
		bpf_task_storage_delete(&task_calls, task);
}

#endif
