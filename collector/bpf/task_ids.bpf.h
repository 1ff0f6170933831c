// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Ids of tasks as user space sees them: those of its own pid namespace, in which /proc and
 * perf's records have theirs too.
 */
#ifndef COLLECTOR_BPF_TASK_IDS_BPF_H
#define COLLECTOR_BPF_TASK_IDS_BPF_H

#include <bpf/bpf_core_read.h>

#include "collector/bpf/kernel_types.bpf.h"

#define PID_NAMESPACES_MAX 8 /* in each other; the kernel allows 32 */

const volatile __u32 pid_namespace_inode = 0; /* of user space; 0: the initial one */

/* The number of a task in that namespace; 0: it is not in it. */
static __noinline __u32 task_number_in_namespace(const struct task_struct *task)
{
	const struct pid *pid = BPF_CORE_READ(task, thread_pid);
	const __u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i < PID_NAMESPACES_MAX && i <= level; i++) {
		struct upid number = { 0 };

		bpf_core_read(&number, sizeof(number), &pid->numbers[i]);
		if (BPF_CORE_READ(number.ns, ns.inum) == pid_namespace_inode)
			return number.nr;
	}
	return 0;
}

static __always_inline __u32 task_tgid(const struct task_struct *task)
{
	return pid_namespace_inode ? task_number_in_namespace(task->group_leader) : task->tgid;
}

static __always_inline __u32 task_tid(const struct task_struct *task)
{
	return pid_namespace_inode ? task_number_in_namespace(task) : task->pid;
}

#endif
