// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The smallest programs that need all that the real ones need: a ring, a cookie, fields of the
 * task, memory of the process. They say that they ran.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "collector/bpf/kernel_types.bpf.h"
#include "collector/bpf/probe_cookie.h"
#include "collector/bpf/self_probe_shared.h"
#include "collector/bpf/task_ids.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} hits SEC(".maps");

static __always_inline void say(const struct pt_regs *regs, enum self_probe_place place,
                                __u64 number)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct self_probe_hit hit = {
		.place = place,
		.tgid = task_tgid(task),
		.cookie = probe_cookie_function(bpf_get_attach_cookie((void *)regs)),
		.number = number,
		.start_ns = task->group_leader->start_boottime,
	};

	if (bpf_probe_read_user(&hit.stack_word, sizeof(hit.stack_word), (const void *)regs->sp))
		return;
	bpf_ringbuf_output(&hits, &hit, sizeof(hit), 0);
}

SEC("uprobe")
int self_enter(struct pt_regs *regs)
{
	say(regs, SELF_PROBE_ENTRY, regs->di);
	return 0;
}

SEC("uretprobe")
int self_leave(struct pt_regs *regs)
{
	say(regs, SELF_PROBE_RETURN, regs->ax);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
