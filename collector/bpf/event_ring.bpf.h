// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ring of events: one for all CPUs, so what was reserved first is read first.
 *
 * An event with a stack takes 20 to 75 KiB, one without a hundred bytes. So stacks leave the
 * last part of the ring to events without one; addresses and frees are then still whole.
 *
 * All processes share it, and those that send much must not take what others need. While
 * there is room, everybody sends. Beyond a certain fill whoever has sent much of late is
 * refused, and the fuller the ring, the less is much: what is left goes to those that send
 * little. The share of a process is in ring_share.bpf.h.
 *
 *       0                       1/2  9/16                 15/16  1
 *       |------------------------|----|----------------------|---|
 *  stacks: everybody             | those that sent less and less | nobody
 *  other events: everybody            | those that sent less and less
 *
 * User space is woken for what it must look at now (a new process, the end of one), and when
 * the ring fills; else it looks by itself many times a second. To wake it for each event costs
 * more than to handle it.
 */
#ifndef COLLECTOR_BPF_EVENT_RING_BPF_H
#define COLLECTOR_BPF_EVENT_RING_BPF_H

#include "collector/bpf/kernel_types.bpf.h"
#include "collector/bpf/probe_loss.bpf.h"
#include "collector/bpf/python_walk.bpf.h"
#include "collector/bpf/ring_share.bpf.h"
#include "collector/bpf/stack_capture.bpf.h"
#include "collector/cuda_event.h"

#define STORM_ALWAYS_BYTES (1ULL << 20) /* calls of that size have a stack at any rate */

const volatile struct ring_region stack_region = { 0 }; /* none has a stack beyond it */
const volatile struct ring_region event_region = { 0 };
const volatile __u64 wake_bytes = 0; /* in the ring, beyond which user space is woken */

enum event_urgency {
	EVENT_PATIENT,
	EVENT_URGENT,
};

/* User space sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} events SEC(".maps");

static __always_inline __u64 ring_fill(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
}

static __always_inline __u64 wake_flags(enum event_urgency urgency, __u64 fill)
{
	if (urgency == EVENT_URGENT || fill >= wake_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

static __always_inline int has_place(const struct process_calls *calls,
                                     const struct cuda_event *event,
                                     const volatile struct ring_region *region, __u64 fill)
{
	const struct ring_region limits = { region->start, region->end };

	return ring_share_admits(calls, event->time_ns, &limits, fill);
}

/* One that user space must have, wherever there is room. */
static __always_inline void event_ring_send_urgent(const struct cuda_event *event)
{
	if (bpf_ringbuf_output(&events, (void *)event, sizeof(*event), BPF_RB_FORCE_WAKEUP))
		probe_loss_count(LOSS_RING_FULL);
}

/* 0: no place. */
static __always_inline int event_ring_send(struct process_calls *calls,
                                           const struct cuda_event *event,
                                           enum event_urgency urgency)
{
	const __u64 fill = ring_fill();

	if (!has_place(calls, event, &event_region, fill) ||
	    bpf_ringbuf_output(&events, (void *)event, sizeof(*event), wake_flags(urgency, fill))) {
		probe_loss_count(LOSS_RING_FULL);
		return 0;
	}
	ring_share_use(calls, event->time_ns, sizeof(*event));
	return 1;
}

/* One size of reservation, a constant; 0 when there is no room. */
static __always_inline int send_bucket(const struct cuda_event *event, const struct pt_regs *regs,
                                       const struct task_struct *task,
                                       const struct stack_extent *extent, const __u32 bucket,
                                       __u64 flags)
{
	struct cuda_stack_event *record = bpf_ringbuf_reserve(&events, sizeof(*record) + bucket, 0);

	if (!record)
		return 0;
	record->call = *event;
	capture_thread(&record->stack, regs, task, extent);
	if (bucket > 0) {
		python_walk(&record->stack, (struct python_scratch *)record->bytes, event->tgid,
		            event->process_start_ns);
		copy_stack(&record->stack, record->bytes, extent, bucket);
	}
	bpf_ringbuf_submit(record, flags);
	return 1;
}

/* With the registers and the identity of the program, without a stack; 0: no place. */
static __always_inline int event_ring_send_thread(struct process_calls *calls,
                                                  const struct cuda_event *event,
                                                  const struct pt_regs *regs,
                                                  const struct task_struct *task)
{
	const struct stack_extent extent = { .base = regs->sp };

	if (!has_place(calls, event, &stack_region, ring_fill()) ||
	    !send_bucket(event, regs, task, &extent, 0, BPF_RB_FORCE_WAKEUP)) {
		probe_loss_count(LOSS_RING_FULL);
		return 0;
	}
	ring_share_use(calls, event->time_ns, sizeof(struct cuda_stack_event));
	return 1;
}

static __always_inline int send_sized(const struct cuda_event *event, const struct pt_regs *regs,
                                      const struct task_struct *task,
                                      const struct stack_extent *extent, __u64 flags)
{
	switch (extent->bucket) {
	case 8192:
		return send_bucket(event, regs, task, extent, 8192, flags);
	case 16384:
		return send_bucket(event, regs, task, extent, 16384, flags);
	case 32768:
		return send_bucket(event, regs, task, extent, 32768, flags);
	default:
		return send_bucket(event, regs, task, extent, 65536, flags);
	}
}

/* With the stack, or without when there is no room for it; 0: no place even so. */
static __always_inline int event_ring_send_stack(struct process_calls *calls,
                                                 struct cuda_event *event,
                                                 const struct pt_regs *regs,
                                                 const struct task_struct *task,
                                                 enum event_urgency urgency)
{
	const __u64 fill = ring_fill();

	if (has_place(calls, event, &stack_region, fill)) {
		const struct stack_extent extent = stack_extent_of(task, regs->sp);

		if (send_sized(event, regs, task, &extent, wake_flags(urgency, fill))) {
			ring_share_use(calls, event->time_ns,
			               sizeof(struct cuda_stack_event) + extent.bucket);
			return 1;
		}
	}
	event->flags |= CUDA_EVENT_STACK_DROPPED;
	probe_loss_count(LOSS_STACK);
	return event_ring_send(calls, event, urgency);
}

#endif
