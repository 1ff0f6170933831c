// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The programs on the functions of the CUDA driver: one for all entries, one for all returns;
 * the cookie of a probe is its line of cuda_functions.def.
 *
 *   entry   allocation: note the call. Free: count and send it, so that nobody's reuse of the
 *           address is in front of it in the ring; note the call.
 *   return  allocation: count and send it with the caller's stack, or its failure. Free: send
 *           that it failed, if it did.
 *
 * Source   collector specification 2.2, 4.2, 4.5
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collector/bpf/call_state.bpf.h"
#include "collector/bpf/cuda_probe_shared.h"
#include "collector/bpf/event_ring.bpf.h"
#include "collector/bpf/kernel_types.bpf.h"
#include "collector/bpf/probe_cookie.h"
#include "collector/bpf/probe_loss.bpf.h"
#include "collector/bpf/process_calls.bpf.h"
#include "collector/cuda_event.h"

struct probed_function {
	__u32 role;
	__u32 memory_class;
	__s32 bytes_argument;
	__s32 address_argument;
};

/* Powers of two, so that a mask shows the verifier that an index lies inside. */
#define FUNCTION_SLOTS 128

_Static_assert(CUDA_FUNCTION_COUNT <= FUNCTION_SLOTS, "a line for each function");
_Static_assert((CUDA_CLASS_COUNT & (CUDA_CLASS_COUNT - 1)) == 0, "masked");

static const struct probed_function functions[FUNCTION_SLOTS] = {
#define CUDA_FUNCTION(id, name, role, class, bytes, address) \
	[id] = { CUDA_ROLE_##role, class, bytes, address },
#include "collector/cuda_functions.def"
#undef CUDA_FUNCTION
};

static __always_inline const struct probed_function *function_of(__u64 id)
{
	return &functions[id & (FUNCTION_SLOTS - 1)];
}

static __always_inline struct cuda_counters *counters_of(struct process_calls *calls,
                                                         const struct probed_function *function)
{
	return &calls->by_class[function->memory_class & (CUDA_CLASS_COUNT - 1)];
}

#define ARGUMENTS_MAX 8 /* a power of two; six are in registers */

/* Of the System V calling convention. */
static __always_inline void read_arguments(const struct pt_regs *regs, __u64 *to)
{
	to[0] = regs->di;
	to[1] = regs->si;
	to[2] = regs->dx;
	to[3] = regs->cx;
	to[4] = regs->r8;
	to[5] = regs->r9;
}

/* Argument `number`, 0 for a negative number. */
static __always_inline __u64 argument(const __u64 *arguments, __s32 number)
{
	return number < 0 ? 0 : arguments[number & (ARGUMENTS_MAX - 1)];
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

static __always_inline void enter_free(const struct task_struct *task,
                                       const struct pending_call *call,
                                       const struct probed_function *function)
{
	const struct process_key key = process_key_of(task);
	struct process_calls *calls = process_calls_of(&key);
	struct cuda_event event;

	if (!calls)
		return;
	__sync_fetch_and_add(&counters_of(calls, function)->free_calls, 1);
	event = event_of(task, &key, CUDA_EVENT_FREE);
	event.function = call->function;
	event.address = call->address;
	event_ring_send(calls, &event, EVENT_PATIENT);
}

SEC("uprobe")
int cuda_enter(struct pt_regs *regs)
{
	const __u64 cookie = bpf_get_attach_cookie(regs);
	const __u64 id = probe_cookie_function(cookie);
	struct task_struct *task = bpf_get_current_task_btf();
	const struct probed_function *function;
	__u64 arguments[ARGUMENTS_MAX] = { 0 };
	struct call_state *state;
	enum call_entry entry = CALL_OUTERMOST;

	if (id >= CUDA_FUNCTION_COUNT)
		return 0;
	function = function_of(id);
	if (function->role == CUDA_ROLE_INIT) {
		announce(regs, task, id);
		return 0;
	}
	read_arguments(regs, arguments);

	const struct pending_call call = {
		.stack_pointer = regs->sp,
		.start_ns = bpf_ktime_get_boot_ns(),
		.address = argument(arguments, function->address_argument),
		.bytes = argument(arguments, function->bytes_argument),
		.function = id,
	};

	state = call_state_of_thread(task);
	if (state)
		entry = call_state_enter(state, task, &call, regs->ip, cookie);
	else
		probe_loss_count(LOSS_CALL_STATE);
	if (function->role == CUDA_ROLE_FREE && entry == CALL_OUTERMOST)
		enter_free(task, &call, function);
	return 0;
}

static __always_inline void leave_alloc(const struct pt_regs *regs, const struct task_struct *task,
                                        const struct pending_call *call, struct cuda_event *event,
                                        struct process_calls *calls)
{
	struct cuda_counters *counters = counters_of(calls, function_of(call->function));
	enum event_urgency urgency;
	int is_paid;

	if (event->result != 0) {
		event->kind = CUDA_EVENT_FAILED;
		__sync_fetch_and_add(&counters->alloc_failures, 1);
	} else {
		__sync_fetch_and_add(&counters->alloc_bytes, call->bytes);
		__sync_fetch_and_add(&counters->alloc_calls, 1);
		if (bpf_probe_read_user(&event->address, sizeof(event->address),
		                        (const void *)call->address)) {
			event->flags |= CUDA_EVENT_NO_ADDRESS;
			probe_loss_count(LOSS_RESULT);
		}
	}
	urgency = process_calls_notice(calls);
	is_paid = process_calls_pay_stack(calls, event->time_ns);
	if (is_paid || (event->result == 0 && call->bytes >= STORM_ALWAYS_BYTES)) {
		event_ring_send_stack(calls, event, regs, task, urgency);
		return;
	}
	event->flags |= CUDA_EVENT_SAMPLED;
	probe_loss_count(LOSS_SAMPLED);
	event_ring_send(calls, event, urgency);
}

SEC("uretprobe")
int cuda_leave(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const __s32 result = regs->ax;
	struct process_calls *calls;
	struct process_key key;
	struct cuda_event event;
	struct pending_call call;
	__u32 role;

	if (!call_state_leave(task, regs->sp, &call))
		return 0;
	role = function_of(call.function)->role;
	if (role == CUDA_ROLE_FREE && result == 0)
		return 0;
	key = process_key_of(task);
	calls = process_calls_of(&key);
	if (!calls)
		return 0;
	event = event_of(task, &key, CUDA_EVENT_ALLOC);
	event.function = call.function;
	event.duration_ns = event.time_ns - call.start_ns;
	event.bytes = call.bytes;
	event.result = result;
	if (role == CUDA_ROLE_ALLOC) {
		leave_alloc(regs, task, &call, &event, calls);
		return 0;
	}
	event.kind = CUDA_EVENT_FREE_UNDONE;
	event.address = call.address;
	__sync_fetch_and_add(&counters_of(calls, function_of(call.function))->free_failures, 1);
	event_ring_send(calls, &event, EVENT_PATIENT);
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
