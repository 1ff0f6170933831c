// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The few fields of kernel structures that our programs read, by CO-RE: their offsets are
 * those of the running kernel, so only names and kinds count here.
 *
 * Shape    x86-64; what another architecture has otherwise stands here and in registers.
 */
#ifndef COLLECTOR_BPF_KERNEL_TYPES_BPF_H
#define COLLECTOR_BPF_KERNEL_TYPES_BPF_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long ip;
	unsigned long sp;
};

struct inode {
	unsigned long i_ino;
};

struct file {
	struct inode *f_inode;
};

/* The page of instructions that replace probed ones; its start is the return trampoline. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	unsigned long start_code;
	unsigned long start_stack;
	unsigned long arg_start;
	struct file *exe_file;
	struct uprobes_state uprobes_state;
};

struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct thread_struct {
	unsigned long fsbase;
};

struct atomic_count {
	int counter;
};

struct signal_struct {
	struct atomic_count live;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

/* The number of a task in one of the namespaces that it is in. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* level + 1 of them, the initial namespace's first */
};

struct task_struct {
	struct pid *thread_pid;
	int pid;
	int tgid;
	__u64 start_boottime;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct uprobe_task *utask;
	struct thread_struct thread;
	char comm[16];
};

#pragma clang attribute pop

#endif
