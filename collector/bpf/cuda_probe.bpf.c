// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The programs on the functions of the CUDA driver: one for all entries, one for all returns;
 * the cookie of a probe is its line of cuda_functions.def.
 *
 *   entry   note the call. What takes something back (free, unmap) is counted and sent, so
 *           that nobody's reuse of the address is in front of it in the ring.
 *   return  allocation: count and send it with the caller's stack, or its failure. Free: send
 *           that it failed, if it did. Others: send what became of them.
 *
 * Source   collector specification 2.2, 4.2, 4.5
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collector/bpf/call_arguments.bpf.h"
#include "collector/bpf/call_state.bpf.h"
#include "collector/bpf/cuda_probe_shared.h"
#include "collector/bpf/event_ring.bpf.h"
#include "collector/bpf/kernel_types.bpf.h"
#include "collector/bpf/probe_cookie.h"
#include "collector/bpf/probe_loss.bpf.h"
#include "collector/bpf/process_calls.bpf.h"
#include "collector/cuda_event.h"

static __always_inline struct cuda_counters *counters_of(struct process_calls *calls,
                                                         const struct pending_call *call)
{
	return &calls->by_class[call->memory_class & (CUDA_CLASS_COUNT - 1)];
}

/* What all events say of who calls, and when. */
static __always_inline struct cuda_event
event_of(const struct task_struct *task, const struct process_key *key, enum cuda_event_kind kind)
{
	struct cuda_event event = {
		.kind = kind,
		.tgid = key->tgid,
		.tid = task_tid(task),
		.process_start_ns = key->start_ns,
		.time_ns = bpf_ktime_get_boot_ns(),
	};

	__builtin_memcpy(event.comm, task->group_leader->comm, sizeof(event.comm));
	return event;
}

/* Of a process that user space may not know yet the first call with a stack is urgent. */
static __always_inline enum event_urgency process_calls_notice(struct process_calls *calls)
{
	if (calls->noticed || __sync_lock_test_and_set(&calls->noticed, 1) != 0)
		return EVENT_PATIENT;
	return EVENT_URGENT;
}

static __always_inline void announce(const struct pt_regs *regs, const struct task_struct *task,
                                     __u32 function)
{
	const struct process_key key = process_key_of(task);
	struct process_calls *calls = process_calls_of(&key);
	struct cuda_event event;

	if (!calls || __sync_lock_test_and_set(&calls->announced, 1) != 0)
		return;
	event = event_of(task, &key, CUDA_EVENT_INIT);
	event.function = function;
	calls->noticed = calls->announced = event_ring_send_thread(calls, &event, regs, task);
}

/* What the event says of the call. */
static __always_inline void describe(struct cuda_event *event, const struct pending_call *call)
{
	event->function = call->function;
	event->device = call->device;
	event->flags |= call->flags;
	event->address = call->address;
	event->bytes = call->bytes;
	event->other = call->other;
}

/* What takes something back is told before it does. */
static __always_inline void tell_entry(const struct task_struct *task,
                                       const struct pending_call *call)
{
	const struct process_key key = process_key_of(task);
	struct process_calls *calls = process_calls_of(&key);
	struct cuda_event event;

	if (!calls)
		return;
	if (call->role == CUDA_ROLE_FREE)
		__sync_fetch_and_add(&counters_of(calls, call)->free_calls, 1);
	event = event_of(task, &key,
	                 call->role == CUDA_ROLE_FREE ? CUDA_EVENT_FREE : CUDA_EVENT_UNMAP);
	describe(&event, call);
	event_ring_send(calls, &event, EVENT_PATIENT);
}

SEC("uprobe")
int cuda_enter(struct pt_regs *regs)
{
	const __u64 cookie = bpf_get_attach_cookie(regs);
	const __u64 id = probe_cookie_function(cookie);
	struct task_struct *task = bpf_get_current_task_btf();
	enum call_entry entry = CALL_OUTERMOST;
	struct pending_call call;
	struct call_state *state;

	if (id >= CUDA_FUNCTION_COUNT)
		return 0;
	if (function_of(id)->role == CUDA_ROLE_INIT) {
		announce(regs, task, id);
		return 0;
	}
	if (!call_of(regs, id, &call))
		return 0;
	state = call_state_of_thread(task);
	if (state)
		entry = call_state_enter(state, task, &call, regs->ip, cookie);
	else
		probe_loss_count(LOSS_CALL_STATE);
	if (entry == CALL_OUTERMOST &&
	    (call.role == CUDA_ROLE_FREE || call.role == CUDA_ROLE_UNMAP))
		tell_entry(task, &call);
	return 0;
}

/* With the caller's stack, if the process has some of its share left. */
static __always_inline void send_with_stack(const struct pt_regs *regs,
                                            const struct task_struct *task,
                                            struct cuda_event *event, struct process_calls *calls)
{
	const enum event_urgency urgency = process_calls_notice(calls);
	const int is_paid = process_calls_pay_stack(calls, event->time_ns);

	if (is_paid || (event->result == 0 && event->bytes >= STORM_ALWAYS_BYTES)) {
		event_ring_send_stack(calls, event, regs, task, urgency);
		return;
	}
	event->flags |= CUDA_EVENT_SAMPLED;
	probe_loss_count(LOSS_SAMPLED);
	event_ring_send(calls, event, urgency);
}

static __always_inline void leave_failed(const struct pt_regs *regs, const struct task_struct *task,
                                         __u32 role, struct cuda_event *event,
                                         struct process_calls *calls,
                                         struct cuda_counters *counters)
{
	switch (role) {
	case CUDA_ROLE_DEVICE_COUNT:
	case CUDA_ROLE_PRIVATE_TABLE: /* asked for, to see whether it is there */
		return;
	case CUDA_ROLE_FREE:
		event->kind = CUDA_EVENT_FREE_UNDONE;
		break;
	case CUDA_ROLE_UNMAP:
		event->kind = CUDA_EVENT_UNMAPPED;
		break;
	default:
		event->kind = CUDA_EVENT_FAILED;
		__sync_fetch_and_add(&counters->alloc_failures, 1);
		send_with_stack(regs, task, event, calls);
		return;
	}
	__sync_fetch_and_add(&counters->free_failures, 1);
	event_ring_send(calls, event, EVENT_PATIENT);
}

static __always_inline void leave_done(const struct pt_regs *regs, const struct task_struct *task,
                                       __u32 role, struct cuda_event *event,
                                       struct process_calls *calls, struct cuda_counters *counters)
{
	switch (role) {
	case CUDA_ROLE_ALLOC:
	case CUDA_ROLE_REGISTER:
		event->kind = CUDA_EVENT_ALLOC;
		__sync_fetch_and_add(&counters->alloc_bytes, event->bytes);
		__sync_fetch_and_add(&counters->alloc_calls, 1);
		send_with_stack(regs, task, event, calls);
		return;
	case CUDA_ROLE_UNMAP:
		event->kind = CUDA_EVENT_UNMAPPED;
		break;
	default:
		event->kind = CUDA_EVENT_DONE;
		break;
	}
	event_ring_send(calls, event, EVENT_PATIENT);
}

/* Whether calls of that role have a result to be read. */
static __always_inline int has_result(__u32 role)
{
	return role == CUDA_ROLE_ALLOC || role == CUDA_ROLE_IMPORT || role == CUDA_ROLE_RETAIN ||
	       role == CUDA_ROLE_CONTEXT || role == CUDA_ROLE_PRIMARY ||
	       role == CUDA_ROLE_DEVICE_COUNT;
}

/* From where the result is to what it is; 0 of a call that failed. */
static __always_inline void take_result(struct pending_call *call, struct cuda_event *event)
{
	__u64 address = 0;

	if (event->result == 0 && read_result(call, &address)) {
		event->flags |= CUDA_EVENT_NO_ADDRESS;
		probe_loss_count(LOSS_RESULT);
	}
	call->address = address;
}

SEC("uretprobe")
int cuda_leave(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const __s32 result = regs->ax;
	struct cuda_counters *counters;
	struct process_calls *calls;
	struct process_key key;
	struct cuda_event event;
	struct pending_call call;

	if (!call_state_leave(task, regs->sp, &call))
		return 0;
	if (call.role == CUDA_ROLE_FREE && result == 0)
		return 0;
	key = process_key_of(task);
	calls = process_calls_of(&key);
	if (!calls)
		return 0;
	event = event_of(task, &key, CUDA_EVENT_DONE);
	event.duration_ns = event.time_ns - call.start_ns;
	event.result = result;
	if (has_result(call.role))
		take_result(&call, &event);
	describe(&event, &call);
	counters = counters_of(calls, &call);
	if (result == 0)
		leave_done(regs, task, call.role, &event, calls, counters);
	else
		leave_failed(regs, task, call.role, &event, calls, counters);
	return 0;
}

/* The end of a process, or of the program in it; only of those that called the driver. */
static __always_inline struct process_calls *
ending(const struct task_struct *task, enum cuda_event_kind kind, struct cuda_event *out)
{
	const struct process_key key = process_key_of(task);
	struct process_calls *calls = bpf_map_lookup_elem(&processes, &key);

	if (calls)
		*out = event_of(task, &key, kind);
	return calls;
}

SEC("raw_tracepoint/sched_process_exit")
int thread_exits(void *context)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct process_calls *calls;
	struct cuda_event event;

	call_state_forget();
	if (task->signal->live.counter != 0)
		return 0;
	/* Of two threads that end at once, both may see that nobody is left. */
	calls = ending(task, CUDA_EVENT_EXIT, &event);
	if (calls && __sync_lock_test_and_set(&calls->exited, 1) == 0)
		event_ring_send_urgent(&event);
	return 0;
}

SEC("raw_tracepoint/sched_process_exec")
int process_execs(void *context)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct cuda_event event;
	struct process_calls *calls = ending(task, CUDA_EVENT_EXEC, &event);

	if (!calls)
		return 0;
	calls->announced = 0;
	calls->noticed = 0;
	event_ring_send_urgent(&event);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
