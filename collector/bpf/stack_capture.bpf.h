// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A thread as it is now: registers, the used part of its stack, pending return probes.
 *
 * How much stack there is must be known before the record is reserved, since the size of a
 * reservation is a constant: the main thread's ends at mm->start_stack, the others' at their
 * thread control block (the fs base). On any other stack (coroutines, a fork from a thread)
 * the next readable pages are tried.
 */
#ifndef COLLECTOR_BPF_STACK_CAPTURE_BPF_H
#define COLLECTOR_BPF_STACK_CAPTURE_BPF_H

#include "collector/bpf/kernel_types.bpf.h"
#include "collector/cuda_event.h"

#define STACK_PLAUSIBLE (64ULL << 20) /* more is another stack's end */

/* The part of a stack that is copied. */
struct stack_extent {
	__u64 base;       /* first address: the stack pointer */
	__u64 length;     /* up to the end of the stack, or STACK_BYTES_MAX and more */
	__u32 bucket;     /* bytes of the record for its pages: 8, 16, 32 or 64 KiB */
	__u32 is_certain; /* 1: all of it is stack, also pages that nobody has touched yet */
};

static __always_inline int is_readable(__u64 address)
{
	__u8 byte;

	return bpf_probe_read_user(&byte, sizeof(byte), (const void *)address) == 0;
}

/* How far into its page an address is. */
static __always_inline __u32 stack_page_part(__u64 address)
{
	return address & (STACK_PAGE - 1);
}

static __always_inline __u32 bucket_by_reading(__u64 base)
{
	if (!is_readable(base + 8192))
		return 8192;
	if (!is_readable(base + 16384))
		return 16384;
	return is_readable(base + 32768) ? 65536 : 32768;
}

static __always_inline struct stack_extent stack_extent_of(const struct task_struct *task,
                                                           __u64 stack_pointer)
{
	const __u32 skipped = stack_page_part(stack_pointer);
	struct stack_extent extent = { .base = stack_pointer };
	__u64 used = 0;
	__u64 room;

	if (task->pid == task->tgid)
		used = task->mm->start_stack - stack_pointer;
	if (used == 0 || used > STACK_PLAUSIBLE)
		used = task->thread.fsbase - stack_pointer;
	if (used == 0 || used > STACK_PLAUSIBLE) {
		extent.bucket = bucket_by_reading(stack_pointer - skipped);
		extent.length = extent.bucket < STACK_BYTES_MAX ? extent.bucket - skipped : ~0ULL;
		return extent;
	}
	extent.is_certain = 1;
	extent.length = used;
	room = used + skipped;
	extent.bucket = room <= 8192 ? 8192 : room <= 16384 ? 16384 : room <= 32768 ? 32768 : 65536;
	return extent;
}

/*
 * Copies what lies in `bucket` bytes of pages, a constant. Pages of large locals that were
 * never written are not there; what we read of them is zero, and the stack goes on behind
 * them. On a stack whose end is not known the first such page is taken for the end.
 */
static __always_inline void copy_stack(struct captured_stack *stack, __u8 *to,
                                       const struct stack_extent *extent, const __u32 bucket)
{
	const __u32 skipped = stack_page_part(extent->base);
	__u64 left = extent->length;
	__u32 length = 0;

	for (__u32 page = 0; page < bucket / STACK_PAGE; page++) {
		const __u32 place = page == 0 ? 0 : page * STACK_PAGE - skipped;
		const __u32 room = page == 0 ? STACK_PAGE - skipped : STACK_PAGE;
		const __u32 piece = left < room ? left : room;

		if (piece == 0 || piece > STACK_PAGE)
			break;
		if (bpf_probe_read_user(to + place, piece, (const void *)(extent->base + place))) {
			if (!extent->is_certain)
				break;
			stack->flags |= CAPTURED_STACK_HOLES;
		}
		length += piece;
		left -= piece;
	}
	stack->length = length;
	if (length == STACK_BYTES_MAX - skipped && left > 0)
		stack->flags |= CAPTURED_STACK_TRUNCATED;
}

static __always_inline void copy_registers(struct captured_stack *stack, const struct pt_regs *regs)
{
	__u64 *to = stack->registers;

	to[0] = regs->ax;
	to[1] = regs->dx;
	to[2] = regs->cx;
	to[STACK_REGISTER_RBX] = regs->bx;
	to[4] = regs->si;
	to[5] = regs->di;
	to[STACK_REGISTER_RBP] = regs->bp;
	to[STACK_REGISTER_RSP] = regs->sp;
	to[8] = regs->r8;
	to[9] = regs->r9;
	to[10] = regs->r10;
	to[11] = regs->r11;
	to[12] = regs->r12;
	to[13] = regs->r13;
	to[14] = regs->r14;
	to[15] = regs->r15;
	to[STACK_REGISTER_RIP] = regs->ip;
}

/* The true return addresses that the kernel keeps while return probes stand on the stack. */
static __always_inline void copy_return_probes(struct captured_stack *stack,
                                               const struct task_struct *task)
{
	const struct return_instance *probe = task->utask ? task->utask->return_instances : NULL;
	__u32 count = 0;

	for (; count < RETURN_PROBES_MAX && probe; count++) {
		stack->return_probes[count].slot = probe->stack;
		stack->return_probes[count].address = probe->orig_ret_vaddr;
		probe = probe->next;
	}
	stack->return_probe_count = count;
}

static __always_inline void copy_identity(struct exec_identity *exec, const struct mm_struct *mm)
{
	exec->start_code = mm->start_code;
	exec->start_stack = mm->start_stack;
	exec->arg_start = mm->arg_start;
	exec->inode = mm->exe_file ? mm->exe_file->f_inode->i_ino : 0;
}

/* Everything but the stack's bytes and the Python frames. */
static __always_inline void capture_thread(struct captured_stack *stack, const struct pt_regs *regs,
                                           const struct task_struct *task,
                                           const struct stack_extent *extent)
{
	copy_registers(stack, regs);
	copy_identity(&stack->exec, task->mm);
	stack->thread_pointer = task->thread.fsbase;
	stack->python_state = 0;
	stack->base = extent->base;
	stack->length = 0;
	stack->flags = 0;
	stack->python_count = 0;
	copy_return_probes(stack, task);
}

#endif
