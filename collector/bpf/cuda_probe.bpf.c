// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The programs on the functions of the CUDA driver: one for all entries, one for all returns;
 * the cookie of a probe is its line of cuda_functions.def.
 *
 *   entry   note the call. What takes something back (free, unmap) is counted and sent, so
 *           that nobody's reuse of the address is in front of it in the ring.
 *   return  allocation: count and send it with the caller's stack, or its failure. Free: send
 *           that it failed, if it did. What makes a context current: keep it. Others: send
 *           what became of them.
 *
 * Source   collector specification 2.2, 4.2, 4.5
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collector/bpf/call_arguments.bpf.h"
#include "collector/bpf/call_state.bpf.h"
#include "collector/bpf/context_stack.bpf.h"
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

/*
 * What is done once is done when its event has found a place: until then the next call does it
 * again. Threads that race may do it twice.
 */
static __always_inline void note_sent(__u64 *done, enum event_urgency urgency, int is_sent)
{
	if (urgency == EVENT_URGENT && is_sent)
		*done = 1;
}

static __always_inline enum event_urgency urgent_unless(__u64 done)
{
	return done ? EVENT_PATIENT : EVENT_URGENT;
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

/*
 * With the caller's stack, if the process has some of its share left. The first one of a
 * process that user space may not know yet is urgent.
 */
static __always_inline void send_with_stack(const struct pt_regs *regs,
                                            const struct task_struct *task,
                                            struct cuda_event *event, struct process_calls *calls)
{
	const enum event_urgency urgency = urgent_unless(calls->noticed);
	const int is_paid = process_calls_pay_stack(calls, event->time_ns);
	int is_sent;

	if (is_paid || (event->result == 0 && event->bytes >= STORM_ALWAYS_BYTES)) {
		is_sent = event_ring_send_stack(calls, event, regs, task, urgency);
	} else {
		event->flags |= CUDA_EVENT_SAMPLED;
		probe_loss_count(LOSS_SAMPLED);
		is_sent = event_ring_send(calls, event, urgency);
	}
	note_sent(&calls->noticed, urgency, is_sent);
}

/* Of several devices the first word is urgent: the contexts of the process are to be watched. */
static __always_inline void send_device_count(struct cuda_event *event, struct process_calls *calls)
{
	const enum event_urgency urgency = event->address > 1 ? urgent_unless(calls->several)
	                                                      : EVENT_PATIENT;

	note_sent(&calls->several, urgency, event_ring_send(calls, event, urgency));
}

static __always_inline void leave_failed(const struct pt_regs *regs, const struct task_struct *task,
                                         __u32 role, struct cuda_event *event,
                                         struct process_calls *calls,
                                         struct cuda_counters *counters)
{
	switch (role) {
	case CUDA_ROLE_DEVICE_COUNT:
	case CUDA_ROLE_DEVICE_UUID:
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
	case CUDA_ROLE_DEVICE_COUNT:
		event->kind = CUDA_EVENT_DONE;
		send_device_count(event, calls);
		return;
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
	       role == CUDA_ROLE_DEVICE_COUNT || role == CUDA_ROLE_STREAM || role == CUDA_ROLE_POOL;
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

/* The 16 bytes of a UUID are address and bytes of the event. */
static __always_inline void take_uuid(const struct pending_call *call, struct cuda_event *event)
{
	__u64 words[2] = { 0, 0 };

	if (bpf_probe_read_user(words, sizeof(words), (const void *)call->address))
		event->flags |= CUDA_EVENT_NO_ADDRESS;
	event->address = words[0];
	event->bytes = words[1];
}

/* ---- contexts ---- */

/* A return, and whose. */
struct leaving {
	const struct task_struct *task;
	struct process_key key;
	struct call_state *state; /* of the thread */
	struct pending_call call;
	__s32 result;
};

static __always_inline struct cuda_event event_of_return(const struct leaving *leaving)
{
	struct cuda_event event = event_of(leaving->task, &leaving->key, CUDA_EVENT_DONE);

	event.duration_ns = event.time_ns - leaving->call.start_ns;
	event.result = leaving->result;
	return event;
}

/* About a context or what belongs to one; 0: no place. */
static __always_inline int send_told(const struct leaving *leaving, __u64 handle, __u16 device)
{
	struct process_calls *calls = process_calls_of(&leaving->key);
	struct cuda_event event;

	if (!calls)
		return 0;
	event = event_of_return(leaving);
	event.function = leaving->call.function;
	event.address = handle;
	event.device = device;
	return event_ring_send(calls, &event, EVENT_PATIENT);
}

/*
 * A context is on that device; once, as long as none ends and it is not told of too many
 * others. Before the process is watched, each time.
 */
static __always_inline void tell_device(const struct leaving *leaving,
                                        const struct watched_contexts *watched, __u64 handle,
                                        __u64 number)
{
	const struct context_key key = { .process = leaving->key, .handle = handle };
	const struct told_device *told = bpf_map_lookup_elem(&contexts_told, &key);
	struct told_device now = { .number = number };

	if (handle == 0)
		return;
	if (watched)
		now.when = *watched;
	if (watched && told && told->number == number && told->when.watch == now.when.watch &&
	    told->when.ends == now.when.ends)
		return;
	if (send_told(leaving, handle, device_of(number)))
		bpf_map_update_elem(&contexts_told, &key, &now, BPF_ANY);
}

/* Another context was current than what was seen: the first time it is told. */
static __always_inline void tell_unseen(const struct leaving *leaving, __u64 handle)
{
	struct process_calls *calls = process_calls_of(&leaving->key);

	probe_loss_count(LOSS_CONTEXT);
	if (calls && !calls->unseen)
		calls->unseen = send_told(leaving, handle, 0);
}

/* What the driver says that is current, or was until now. */
static __always_inline void compare_current(const struct leaving *leaving, __u64 handle)
{
	struct context_stack *stack = &leaving->state->contexts;

	if (stack->handles[0] != 0 && stack->handles[0] != handle && stack->watch != 0)
		tell_unseen(leaving, handle);
	if (handle != 0)
		stack->handles[0] = handle;
}

static __always_inline void tell_handle(struct leaving *leaving, __u64 handle)
{
	struct process_calls *calls = process_calls_of(&leaving->key);
	struct cuda_event event;

	if (!calls)
		return;
	event = event_of_return(leaving);
	event.function = leaving->call.function;
	event.device = leaving->call.device;
	event.address = handle;
	context_stack_tell(&leaving->state->contexts, &leaving->key, &event);
	event_ring_send(calls, &event, EVENT_PATIENT);
}

/* Calls that are of processes with several devices; a function of its own for the verifier. */
static __noinline int leave_context(struct leaving *leaving)
{
	const struct watched_contexts *watched;
	struct context_stack *stack;
	__u64 given = 0;

	if (!leaving || !leaving->state || leaving->result != 0)
		return 0;
	stack = &leaving->state->contexts;
	watched = context_stack_follow(stack, &leaving->key);
	if (leaving->call.role != CUDA_ROLE_CURRENT_SET &&
	    leaving->call.role != CUDA_ROLE_CURRENT_PUSH &&
	    leaving->call.role != CUDA_ROLE_STREAM_END &&
	    leaving->call.role != CUDA_ROLE_POOL_END && read_result(&leaving->call, &given))
		return 0;
	switch (leaving->call.role) {
	case CUDA_ROLE_CURRENT_SET:
		context_stack_set(stack, leaving->call.address);
		break;
	case CUDA_ROLE_CURRENT_PUSH:
		context_stack_push(stack, leaving->call.address);
		break;
	case CUDA_ROLE_CURRENT_POP:
		compare_current(leaving, given);
		context_stack_pop(stack);
		break;
	case CUDA_ROLE_CURRENT_TOLD:
		compare_current(leaving, given);
		break;
	case CUDA_ROLE_CURRENT_DEVICE:
		tell_device(leaving, watched, stack->handles[0], given);
		break;
	case CUDA_ROLE_DEVICE_OF:
		tell_device(leaving, watched, leaving->call.other, given);
		break;
	case CUDA_ROLE_STREAM_END:
	case CUDA_ROLE_POOL_END:
		tell_handle(leaving, leaving->call.address);
		break;
	default:
		tell_handle(leaving, given);
		break;
	}
	return 0;
}

/* Whether a call of that role that succeeds may end a context. */
static __always_inline int may_end_context(__u32 role)
{
	return role == CUDA_ROLE_CONTEXT_END || role == CUDA_ROLE_PRIMARY_RELEASE ||
	       role == CUDA_ROLE_PRIMARY_RESET;
}

/* What the call has done to the contexts of its thread, and in which one it was made. */
static __always_inline void note_context(struct leaving *leaving, struct cuda_event *event)
{
	struct context_stack *stack = &leaving->state->contexts;

	if (leaving->call.role == CUDA_ROLE_CONTEXT && event->result == 0) {
		context_stack_follow(stack, &leaving->key);
		context_stack_push(stack, event->address);
	} else if (leaving->call.role == CUDA_ROLE_CONTEXT_END && event->result == 0) {
		context_stack_follow(stack, &leaving->key);
		context_stack_end(stack, event->address);
	} else {
		context_stack_tell(stack, &leaving->key, event);
	}
}

/* ---- returns ---- */

static __always_inline void leave_call(const struct pt_regs *regs, struct leaving *leaving)
{
	struct process_calls *calls = process_calls_of(&leaving->key);
	struct pending_call *call = &leaving->call;
	struct cuda_counters *counters;
	struct cuda_event event;

	if (!calls)
		return;
	event = event_of_return(leaving);
	if (has_result(call->role))
		take_result(call, &event);
	describe(&event, call);
	if (call->role == CUDA_ROLE_DEVICE_UUID)
		take_uuid(call, &event);
	note_context(leaving, &event);
	counters = counters_of(calls, call);
	if (leaving->result == 0)
		leave_done(regs, leaving->task, call->role, &event, calls, counters);
	else
		leave_failed(regs, leaving->task, call->role, &event, calls, counters);
	if (leaving->result == 0 && may_end_context(call->role))
		context_stack_count_end(&leaving->key);
}

SEC("uretprobe")
int cuda_leave(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct leaving leaving = { .task = task, .result = regs->ax };

	leaving.state = call_state_leave(task, regs->sp, &leaving.call);
	if (!leaving.state || (leaving.call.role == CUDA_ROLE_FREE && leaving.result == 0))
		return 0;
	leaving.key = process_key_of(task);
	if (cuda_role_is_of_several(leaving.call.role))
		(void)leave_context(&leaving);
	else
		leave_call(regs, &leaving);
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
	if (calls)
		context_stack_unwatch(task);
	if (calls && __sync_lock_test_and_set(&calls->exited, 1) == 0)
		event_ring_send_urgent(&event);
	return 0;
}

SEC("raw_tracepoint/sched_process_exec")
int process_execs(struct bpf_raw_tracepoint_args *context) /* task, its id before, program */
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cuda_event event;
	struct process_calls *calls = ending(task, CUDA_EVENT_EXEC, &event);

	if (!calls)
		return 0;
	calls->announced = 0;
	calls->noticed = 0;
	calls->several = 0;
	calls->unseen = 0;
	context_stack_unwatch(task);
	call_state_forget_program(task, context->args[1]);
	event_ring_send_urgent(&event);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
