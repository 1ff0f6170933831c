// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What a process has sent of late, and whether that leaves it a place in a ring that fills.
 *
 * What it sent is kept in one word, as the time that it takes to be forgotten: each byte
 * moves it on, up to RING_SHARE_NS ahead of now, where it stays as long as the process sends
 * more than a share. Nobody's past counts for longer than that.
 *
 * In a region of the ring of which a part is still free, a process has a place if the part
 * of RING_SHARE_NS that it has used up is no larger. So those that send much meet at a fill
 * that leaves something, however many they are; whoever sends little has used up next to
 * nothing, and is let in up to the end. A process that nobody knows begins with
 * half of it used up: thousands that call once each are many too.
 *
 * Threads  of a process that race may have bytes forgotten: they are let in a little longer.
 */
#ifndef COLLECTOR_BPF_RING_SHARE_BPF_H
#define COLLECTOR_BPF_RING_SHARE_BPF_H

#include "collector/bpf/cuda_probe_shared.h"

const volatile __u64 share_byte_ns = 0; /* how long a byte counts */

static __always_inline void ring_share_begin(struct process_calls *calls, __u64 now_ns)
{
	calls->share_ns = now_ns + RING_SHARE_NS / 2;
}

static __always_inline void ring_share_use(struct process_calls *calls, __u64 now_ns, __u64 bytes)
{
	if (calls->share_ns < now_ns)
		calls->share_ns = now_ns;
	if (calls->share_ns - now_ns < RING_SHARE_NS)
		__sync_fetch_and_add(&calls->share_ns, bytes * share_byte_ns);
}

static __always_inline int ring_share_admits(const struct process_calls *calls, __u64 now_ns,
                                             const struct ring_region *region, __u64 fill)
{
	const __u64 used_ns = calls->share_ns > now_ns ? calls->share_ns - now_ns : 0;

	if (fill <= region->start)
		return 1;
	if (fill > region->end)
		return 0;
	return used_ns * (region->end - region->start) <= RING_SHARE_NS * (region->end - fill);
}

#endif
