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
 * A read costs more than what it reads. So a code object is read as one block, and frames in
 * windows: since 3.11 those of a thread lie side by side, inner ones behind outer ones, and
 * once two of them were met, the third is read with all that its page has in front of it.
 * What was read lies where the bytes of the stack come later.
 *
 * What is verified once stands in global functions; the loop over frames calls one of them a
 * frame, and others for what is seldom.
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
#define CODE_READ          160 /* no code object is smaller */
#define FRAME_READ_MAX     112 /* all that is read of a frame to 3.10 */
#define FRAME_BLOCK        128 /* and the power of two that has room for it */
#define CODE_BLOCK         256
#define WINDOW_PAGE        4096

/* For an older verifier, that does not take PYTHON_FRAMES_MAX turns of the loop. */
const volatile __u32 python_frames_limit = PYTHON_FRAMES_MAX;

/* Written by user space, once more when a program whose turn has not come for long is gone. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PYTHON_PROGRAMS_MAX);
	__type(key, struct exec_identity);
	__type(value, struct python_description);
} python_programs SEC(".maps");

/* Memory of the process: the frame at the cursor and what lies in front of it; a code object. */
struct python_scratch {
	__u8 window[WINDOW_PAGE + FRAME_BLOCK];
	__u8 code[CODE_BLOCK];
};

_Static_assert(sizeof(struct python_scratch) <= STACK_BYTES_MIN, "fits where the stack comes");

/* What is at an offset of a block that was read; the masks keep it inside. */
static __always_inline const __u8 *frame_block(const struct python_scratch *scratch,
                                               const struct python_cursor *cursor)
{
	return scratch->window + ((cursor->frame - cursor->window) & (WINDOW_PAGE - 1));
}

static __always_inline __u64 frame_u64(const __u8 *block, __u32 offset)
{
	return *(const __u64 *)&block[offset & (FRAME_BLOCK - 8)];
}

static __always_inline __u32 frame_u32(const __u8 *block, __u32 offset)
{
	return *(const __u32 *)&block[offset & (FRAME_BLOCK - 4)];
}

static __always_inline __u8 frame_u8(const __u8 *block, __u32 offset)
{
	return block[offset & (FRAME_BLOCK - 1)];
}

static __always_inline __u64 code_u64(const struct python_scratch *scratch, __u32 offset)
{
	return *(const __u64 *)&scratch->code[offset & (CODE_BLOCK - 8)];
}

static __always_inline __u32 code_u32(const struct python_scratch *scratch, __u32 offset)
{
	return *(const __u32 *)&scratch->code[offset & (CODE_BLOCK - 4)];
}

/* Moves the window to where the frame is in it, up to its local variables. */
static __always_inline void window_move(struct python_scratch *scratch,
                                        const struct python_description *python,
                                        struct python_cursor *cursor, __u64 frame)
{
	const int is_beside = cursor->frame - frame < WINDOW_PAGE; /* and in front */
	const __u32 before = is_beside ? frame & (WINDOW_PAGE - 1) : 0;
	__u64 length = python->offsets.frame_locals;

	if (length > FRAME_READ_MAX)
		length = FRAME_READ_MAX;
	if (frame >= cursor->window && frame + length <= cursor->window_end)
		return;
	cursor->window = frame - before;
	cursor->window_end = frame + length;
	bpf_probe_read_user(scratch->window, before + length, (const void *)cursor->window);
}

/* Puts the cursor on a frame; 0: behind the last. */
static __always_inline void cursor_set(struct python_scratch *scratch,
                                       const struct python_description *python,
                                       struct python_cursor *cursor, __u64 frame)
{
	if (frame)
		window_move(scratch, python, cursor, frame);
	cursor->frame = frame;
}

static __always_inline int is_shim(const struct python_scratch *scratch,
                                   const struct python_description *python,
                                   const struct python_cursor *cursor)
{
	return cursor->frame && python->version >= PYTHON_VERSION(3, 12) &&
	       frame_u8(frame_block(scratch, cursor), python->offsets.frame_owner) >= OWNER_SHIM;
}

static __always_inline void cursor_go_back(struct python_scratch *scratch,
                                           const struct python_description *python,
                                           struct python_cursor *cursor)
{
	cursor_set(scratch, python, cursor,
	           frame_u64(frame_block(scratch, cursor), python->offsets.frame_back));
}

/* In bytes to 3.10, in units of two bytes since; -1 before the first instruction. */
static __always_inline __s32 frame_position(const __u8 *block,
                                            const struct python_description *python, __u64 code)
{
	const struct python_offsets *offsets = &python->offsets;
	__u64 start = code + offsets->code_instructions;
	__s64 position;

	if (python->version < PYTHON_VERSION(3, 11)) {
		position = (__s32)frame_u32(block, offsets->frame_position);
		if (python->version == PYTHON_VERSION(3, 10) && position > 0)
			position *= 2;
	} else {
		/* Without the GIL each thread may have a copy of the bytecode. */
		if (python->flags & PYTHON_FREE_THREADED &&
		    offsets->code_copies != PYTHON_OFFSET_NONE)
			start = user_u64(user_u64(code + offsets->code_copies) + 8 +
			                 8ULL * frame_u32(block, offsets->frame_copy));
		position = (__s64)(frame_u64(block, offsets->frame_position) - start) >> 1;
	}
	return position < 0 || position > POSITION_PLAUSIBLE ? -1 : position;
}

/* Puts the cursor on the innermost frame. Always 0. */
__noinline int python_cursor_begin(struct python_scratch *scratch,
                                   const struct python_description *python,
                                   struct python_cursor *cursor, __u64 state)
{
	if (!scratch || !python || !cursor)
		return 0;
	cursor->cframe = cframe_of_state(python, state);
	cursor_set(scratch, python, cursor, frame_of_state(python, state, cursor->cframe));
	if (is_shim(scratch, python, cursor))
		cursor_go_back(scratch, python, cursor);
	return 0;
}

/* Fills flags and marker of the frame at the cursor; goes on to the next real one. */
static __always_inline void pass_frame(struct python_scratch *scratch,
                                       const struct python_description *python,
                                       struct python_cursor *cursor, struct python_frame *out)
{
	const int is_entry = python->version != PYTHON_VERSION(3, 11) ||
	                     frame_u8(frame_block(scratch, cursor), python->offsets.frame_is_entry);

	out->flags = 0;
	out->marker = 0;
	cursor_go_back(scratch, python, cursor);
	if (python->version >= PYTHON_VERSION(3, 12)) {
		if (!is_shim(scratch, python, cursor))
			return;
		out->flags = PYTHON_FRAME_ENTRY | PYTHON_FRAME_SHIM;
		out->marker = cursor->frame;
		cursor_go_back(scratch, python, cursor);
		if (is_shim(scratch, python, cursor))
			cursor_go_back(scratch, python, cursor);
		return;
	}
	if (!is_entry)
		return;
	out->flags = PYTHON_FRAME_ENTRY;
	if (python->offsets.cframe_previous != PYTHON_OFFSET_NONE) {
		out->marker = cursor->cframe;
		cursor->cframe = user_u64(cursor->cframe + python->offsets.cframe_previous);
	}
}

/* The same, verified once. Always 0. */
__noinline int python_pass_frame(struct python_scratch *scratch,
                                 const struct python_description *python,
                                 struct python_cursor *cursor, struct python_frame *out)
{
	if (scratch && python && cursor && out)
		pass_frame(scratch, python, cursor, out);
	return 0;
}

/* What tells a code object from another one at its address: python_code_content(). */
static __always_inline __u64 code_content(const struct python_scratch *scratch,
                                          const struct python_description *python)
{
	const struct python_offsets *offsets = &python->offsets;
	const __u64 name = code_u64(scratch, offsets->code_name);
	const __u64 lines = code_u64(scratch, offsets->code_lines);
	__u64 serial;

	if (offsets->code_serial != PYTHON_OFFSET_NONE)
		serial = code_u32(scratch, offsets->code_serial);
	else
		serial = user_u64(name + offsets->string_hash);
	return python_code_content(name, lines, serial);
}

/*
 * Reads the frame at the cursor and goes on to the next. Returns its code object's entry of
 * python_seen, or 0 when it was not sent yet.
 */
__noinline __u64 python_read_frame(struct python_scratch *scratch,
                                   const struct python_description *python,
                                   struct python_cursor *cursor, struct python_frame *out)
{
	const __u8 *block;
	__u64 content;

	if (!scratch || !python || !cursor || !out)
		return 0;
	block = frame_block(scratch, cursor);
	cursor->passed = cursor->frame;
	out->code = frame_u64(block, python->offsets.frame_code) & ~PYTHON_POINTER_TAGS;
	bpf_probe_read_user(scratch->code, CODE_READ, (const void *)out->code);
	out->first_line = code_u32(scratch, python->offsets.code_first_line);
	out->position = frame_position(block, python, out->code);
	out->type = 0;
	content = code_content(scratch, python);
	out->tag = python_code_tag(content);
	cursor->code_tag = out->tag;
	cursor->code_hash = python_mix(cursor->program_hash, out->code);
	cursor->code_hash = python_mix(cursor->code_hash, content);
	cursor->code_hash = python_mix(cursor->code_hash, out->first_line);
	pass_frame(scratch, python, cursor, out);
	return python_seen_find(cursor->code_hash);
}

/* Sends the code object of the frame that was read last: where `self` is. */
__noinline __u32 python_define_frame(const struct captured_stack *stack,
                                     const struct python_description *python,
                                     const struct python_cursor *cursor,
                                     const struct python_frame *frame)
{
	__u32 argument = 0;

	if (!stack || !python || !cursor || !frame)
		return 0;
	if (python->version < PYTHON_VERSION(3, 11))
		argument = python_first_argument(python, frame->code);
	if (python_define_code(stack, python, cursor, frame->code, frame->first_line) == 0)
		python_seen_add(cursor->code_hash, argument);
	return argument;
}

/* To 3.10: the type that a method's name gets in front; its name is sent at first sight. */
__noinline __u64 python_see_type(const struct captured_stack *stack,
                                 const struct python_description *python,
                                 const struct python_cursor *cursor, __u32 argument)
{
	__u64 hash;
	__u64 name;
	__u64 type;

	if (!stack || !python || !cursor)
		return 0;
	type = type_of_argument(python, cursor->passed, argument);
	name = type ? user_u64(type + python->offsets.type_name) : 0;
	if (!name)
		return 0;
	hash = python_mix(python_mix(cursor->program_hash, type), name);
	if (!python_seen_find(hash) && python_define_type(stack, python, cursor, type, name) == 0)
		python_seen_add(hash, 0);
	return type;
}

/* The marker of the run in which the cursor stands; 0 when its entry is too far away. */
__noinline __u64 python_seek_marker(struct python_scratch *scratch,
                                    const struct python_description *python,
                                    struct python_cursor *cursor)
{
	struct python_frame frame = { 0 };

	if (!scratch || !python || !cursor)
		return 0;
	for (__u32 i = 0; i < FRAMES_SEARCHED && cursor->frame && !frame.marker; i++)
		python_pass_frame(scratch, python, cursor, &frame);
	return frame.marker;
}

/* In a function of its own: its stack is free again when frames are read. */
static __noinline const struct python_description *find_program(const struct exec_identity *exec)
{
	const struct exec_identity key = *exec;

	return bpf_map_lookup_elem(&python_programs, &key);
}

static __always_inline __u64 program_hash(const struct exec_identity *exec, __u32 tgid,
                                          __u64 start_ns)
{
	__u64 hash = python_mix(python_seen_seed, start_ns);

	hash = python_mix(hash, tgid);
	hash = python_mix(hash, exec->start_stack);
	return python_mix(hash, exec->arg_start);
}

/*
 * Fills python_state, python, python_count and their flags of `stack`, whose exec and
 * thread_pointer are set. Returns how many frames there are.
 */
__noinline int python_walk(struct captured_stack *stack, struct python_scratch *scratch, __u32 tgid,
                           __u64 start_ns)
{
	struct python_cursor cursor = { .start_ns = start_ns, .tgid = tgid };
	const struct python_description *python;
	__u32 count = 0;

	if (!stack || !scratch)
		return 0;
	stack->python_state = 0;
	stack->python_count = 0;
	python = find_program(&stack->exec);
	if (!python)
		stack->flags |= CAPTURED_PYTHON_UNKNOWN;
	if (!python)
		return 0;
	stack->python_state = python_state_of(python, stack->thread_pointer);
	if (!stack->python_state)
		return 0;
	cursor.program_hash = program_hash(&stack->exec, tgid, start_ns);
	python_cursor_begin(scratch, python, &cursor, stack->python_state);
	for (; count < PYTHON_FRAMES_MAX; count++) {
		struct python_frame *frame = &stack->python[count];
		__u32 argument;

		if (count >= python_frames_limit || !cursor.frame)
			break;
		argument = python_read_frame(scratch, python, &cursor, frame);
		if (!argument)
			argument = python_define_frame(stack, python, &cursor, frame);
		argument &= PYTHON_SEEN_NOTE;
		if (argument)
			frame->type = python_see_type(stack, python, &cursor, argument);
	}
	stack->python_count = count;
	if (!cursor.frame)
		return count;
	stack->flags |= CAPTURED_PYTHON_TRUNCATED;
	if (count > 0 && count <= PYTHON_FRAMES_MAX && !stack->python[count - 1].flags)
		stack->python[count - 1].marker = python_seek_marker(scratch, python, &cursor);
	return count;
}

#endif
