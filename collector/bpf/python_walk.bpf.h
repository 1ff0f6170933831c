// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The Python frames of the current thread, innermost first, and the names of the code objects
 * that were not seen before.
 *
 * The chain is whole: the thread stands inside the driver's function, nobody else may change
 * its frames, and they hold references to their code objects. A chain that a process made up
 * costs a bounded number of reads that fail.
 *
 * The outermost frame of one run of the evaluation loop has a marker, an address in the loop's
 * own native frame: the CFrame to 3.11 (every frame is an entry to 3.10), the shim frame that
 * follows it since 3.12.
 *
 * What is verified once stands in global functions; the loop over frames calls them. A frame
 * and its code object are read as two blocks into the record itself, since a read costs more
 * than what it reads, and there is no room for them on the stack of a program.
 *
 * Source   unwinding specification 2, 7.1
 */
#ifndef COLLECTOR_BPF_PYTHON_WALK_BPF_H
#define COLLECTOR_BPF_PYTHON_WALK_BPF_H

#include "collector/bpf/python_code.bpf.h"
#include "collector/bpf/python_state.bpf.h"
#include "collector/cuda_event.h"
#include "collector/python/python_description.h"

#define PYTHON_PROGRAMS_MAX 4096

#define FRAMES_SEARCHED    1024 /* beyond the last that is kept, for the marker of its run */
#define OWNER_SHIM         3    /* and above: a frame of the interpreter's own */
#define POSITION_PLAUSIBLE (1 << 28)
#define CODE_BLOCK_READ    160 /* no code object is smaller */
#define FRAME_BLOCK_READ   112 /* all that is read of a frame to 3.10 */

/* For an older verifier, that does not take PYTHON_FRAMES_MAX turns of the loop. */
const volatile __u32 python_frames_limit = PYTHON_FRAMES_MAX;

/* Written by user space; a description of version 0 says that there is no Python. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PYTHON_PROGRAMS_MAX);
	__type(key, struct exec_identity);
	__type(value, struct python_description);
} python_programs SEC(".maps");

/* Where a walk stands. */
struct python_cursor {
	__u64 frame;  /* its block is in the record */
	__u64 passed; /* the one that was read last */
	__u64 cframe; /* the current one, to 3.11 */
	__u64 start_ns;
	__u64 fingerprint; /* of the program */
	__u32 tgid;
	__u32 reserved;
};

/* What is at an offset of a block that was read; the masks keep it inside. */
static __always_inline __u64 frame_u64(const struct captured_stack *stack, __u32 offset)
{
	return *(const __u64 *)&stack->frame_block[offset & (PYTHON_FRAME_BLOCK - 8)];
}

static __always_inline __u32 frame_u32(const struct captured_stack *stack, __u32 offset)
{
	return *(const __u32 *)&stack->frame_block[offset & (PYTHON_FRAME_BLOCK - 4)];
}

static __always_inline __u8 frame_u8(const struct captured_stack *stack, __u32 offset)
{
	return stack->frame_block[offset & (PYTHON_FRAME_BLOCK - 1)];
}

static __always_inline __u64 code_u64(const struct captured_stack *stack, __u32 offset)
{
	return *(const __u64 *)&stack->code_block[offset & (PYTHON_CODE_BLOCK - 8)];
}

static __always_inline __u32 code_u32(const struct captured_stack *stack, __u32 offset)
{
	return *(const __u32 *)&stack->code_block[offset & (PYTHON_CODE_BLOCK - 4)];
}

/* Puts the cursor on a frame and reads its block, up to its local variables. */
static __always_inline void cursor_set(struct captured_stack *stack,
                                       const struct python_description *python,
                                       struct python_cursor *cursor, __u64 frame)
{
	__u64 length = python->offsets.frame_locals;

	if (length > FRAME_BLOCK_READ)
		length = FRAME_BLOCK_READ;
	cursor->frame = frame;
	if (frame)
		bpf_probe_read_user(stack->frame_block, length, (const void *)frame);
}

static __always_inline int is_shim(const struct captured_stack *stack,
                                   const struct python_description *python,
                                   const struct python_cursor *cursor)
{
	return cursor->frame && python->version >= PYTHON_VERSION(3, 12) &&
	       frame_u8(stack, python->offsets.frame_owner) >= OWNER_SHIM;
}

static __always_inline void cursor_go_back(struct captured_stack *stack,
                                           const struct python_description *python,
                                           struct python_cursor *cursor)
{
	cursor_set(stack, python, cursor, frame_u64(stack, python->offsets.frame_back));
}

/* In bytes to 3.10, in units of two bytes since; -1 before the first instruction. */
static __always_inline __s32 frame_position(const struct captured_stack *stack,
                                            const struct python_description *python, __u64 code)
{
	const struct python_offsets *offsets = &python->offsets;
	__u64 start = code + offsets->code_instructions;
	__s64 position;

	if (python->version < PYTHON_VERSION(3, 11)) {
		position = (__s32)frame_u32(stack, offsets->frame_position);
		if (python->version == PYTHON_VERSION(3, 10) && position > 0)
			position *= 2;
	} else {
		/* Without the GIL each thread may have a copy of the bytecode. */
		if (python->flags & PYTHON_FREE_THREADED &&
		    offsets->code_copies != PYTHON_OFFSET_NONE)
			start = user_u64(user_u64(code + offsets->code_copies) + 8 +
			                 8ULL * frame_u32(stack, offsets->frame_copy));
		position = (__s64)(frame_u64(stack, offsets->frame_position) - start) >> 1;
	}
	return position < 0 || position > POSITION_PLAUSIBLE ? -1 : position;
}

/* Puts the cursor on the innermost frame. */
static __always_inline void cursor_begin(struct captured_stack *stack,
                                         const struct python_description *python,
                                         struct python_cursor *cursor)
{
	const __u64 state = stack->python_state;

	cursor->cframe = cframe_of_state(python, state);
	cursor_set(stack, python, cursor, frame_of_state(python, state, cursor->cframe));
	if (is_shim(stack, python, cursor))
		cursor_go_back(stack, python, cursor);
}

/* Fills flags and marker of the frame at the cursor; goes on to the next real one. Always 0. */
__noinline int python_pass_frame(struct captured_stack *stack,
                                 const struct python_description *python,
                                 struct python_cursor *cursor, struct python_frame *out)
{
	__u8 is_entry;

	if (!stack || !python || !cursor || !out)
		return 0;
	is_entry = python->version != PYTHON_VERSION(3, 11) ||
	           frame_u8(stack, python->offsets.frame_is_entry);
	out->flags = 0;
	out->marker = 0;
	cursor_go_back(stack, python, cursor);
	if (python->version >= PYTHON_VERSION(3, 12)) {
		if (!is_shim(stack, python, cursor))
			return 0;
		out->flags = PYTHON_FRAME_ENTRY | PYTHON_FRAME_SHIM;
		out->marker = cursor->frame;
		cursor_go_back(stack, python, cursor);
		if (is_shim(stack, python, cursor))
			cursor_go_back(stack, python, cursor);
		return 0;
	}
	if (!is_entry)
		return 0;
	out->flags = PYTHON_FRAME_ENTRY;
	if (python->offsets.cframe_previous != PYTHON_OFFSET_NONE) {
		out->marker = cursor->cframe;
		cursor->cframe = user_u64(cursor->cframe + python->offsets.cframe_previous);
	}
	return 0;
}

/* Reads the frame at the cursor and goes on to the next. Always 0. */
__noinline int python_read_frame(struct captured_stack *stack,
                                 const struct python_description *python,
                                 struct python_cursor *cursor, struct python_frame *out)
{
	if (!stack || !python || !cursor || !out)
		return 0;
	cursor->passed = cursor->frame;
	out->code = frame_u64(stack, python->offsets.frame_code) & ~PYTHON_POINTER_TAGS;
	bpf_probe_read_user(stack->code_block, CODE_BLOCK_READ, (const void *)out->code);
	out->first_line = code_u32(stack, python->offsets.code_first_line);
	out->position = frame_position(stack, python, out->code);
	out->type = 0;
	out->reserved = 0;
	return python_pass_frame(stack, python, cursor, out);
}

/* Sends the code object of the frame that was read last at its first sight: where `self` is. */
__noinline __u32 python_see_code(const struct captured_stack *stack,
                                 const struct python_description *python,
                                 const struct python_cursor *cursor,
                                 const struct python_frame *frame)
{
	struct python_seen_key key = { 0 };
	const __u32 *seen;
	__u32 argument = 0;

	if (!stack || !python || !cursor || !frame)
		return 0;
	key.object = frame->code;
	key.tgid = cursor->tgid;
	key.first_line = frame->first_line;
	key.fingerprint = cursor->fingerprint ^ code_u64(stack, python->offsets.code_name);
	key.fingerprint ^= code_u64(stack, python->offsets.code_lines) << 20;
	seen = bpf_map_lookup_elem(&python_seen, &key);
	if (seen)
		return *seen;
	if (python->version < PYTHON_VERSION(3, 11))
		argument = python_first_argument(python, frame->code);
	if (python_define_code(stack, python, key.object, key.first_line, cursor->start_ns) == 0)
		bpf_map_update_elem(&python_seen, &key, &argument, BPF_ANY);
	return argument;
}

/* To 3.10: the type that a method's name gets in front; its name is sent at first sight. */
__noinline __u64 python_see_type(const struct captured_stack *stack,
                                 const struct python_description *python,
                                 const struct python_cursor *cursor, __u32 argument)
{
	struct python_seen_key key = { 0 };
	const __u32 nothing = 0;
	__u64 name;

	if (!stack || !python || !cursor)
		return 0;
	key.object = type_of_argument(python, cursor->passed, argument);
	name = key.object ? user_u64(key.object + python->offsets.type_name) : 0;
	if (!name)
		return 0;
	key.tgid = cursor->tgid;
	key.fingerprint = cursor->fingerprint ^ name;
	if (!bpf_map_lookup_elem(&python_seen, &key) &&
	    python_define_type(stack, python, key.object, name, cursor->start_ns) == 0)
		bpf_map_update_elem(&python_seen, &key, &nothing, BPF_ANY);
	return key.object;
}

/* The marker of the run in which the cursor stands; 0 when its entry is too far away. */
__noinline __u64 python_seek_marker(struct captured_stack *stack,
                                    const struct python_description *python,
                                    struct python_cursor *cursor)
{
	struct python_frame frame = { 0 };

	if (!stack || !python || !cursor)
		return 0;
	for (__u32 i = 0; i < FRAMES_SEARCHED && cursor->frame && !frame.marker; i++)
		python_pass_frame(stack, python, cursor, &frame);
	return frame.marker;
}

/* In a function of its own: its stack is free again when frames are read. */
static __noinline const struct python_description *find_program(const struct exec_identity *exec)
{
	const struct exec_identity key = *exec;

	return bpf_map_lookup_elem(&python_programs, &key);
}

/*
 * Fills python_state, python, python_count and their flags of `stack`, whose exec and
 * thread_pointer are set. Returns how many frames there are.
 */
__noinline int python_walk(struct captured_stack *stack, __u32 tgid, __u64 start_ns)
{
	struct python_cursor cursor = { .start_ns = start_ns, .tgid = tgid };
	const struct python_description *python;
	__u32 count = 0;

	if (!stack)
		return 0;
	stack->python_state = 0;
	stack->python_count = 0;
	python = find_program(&stack->exec);
	if (!python)
		stack->flags |= CAPTURED_PYTHON_UNKNOWN;
	if (!python || python->version == 0)
		return 0;
	stack->python_state = python_state_of(python, stack->thread_pointer);
	if (!stack->python_state)
		return 0;
	cursor.fingerprint = start_ns ^ stack->exec.start_stack << 16 ^ stack->exec.arg_start << 32;
	cursor_begin(stack, python, &cursor);
	for (; count < PYTHON_FRAMES_MAX; count++) {
		struct python_frame *frame = &stack->python[count];
		__u32 argument;

		if (count >= python_frames_limit || !cursor.frame)
			break;
		python_read_frame(stack, python, &cursor, frame);
		argument = python_see_code(stack, python, &cursor, frame);
		if (argument)
			frame->type = python_see_type(stack, python, &cursor, argument);
	}
	stack->python_count = count;
	if (!cursor.frame)
		return count;
	stack->flags |= CAPTURED_PYTHON_TRUNCATED;
	if (count > 0 && count <= PYTHON_FRAMES_MAX && !stack->python[count - 1].flags)
		stack->python[count - 1].marker = python_seek_marker(stack, python, &cursor);
	return count;
}

#endif
