// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The Python frames of the current thread, innermost first, and the names of the code objects
 * that were not seen before.
 *
 * The chain is whole: the thread stands inside the driver's function, nobody else may change
 * its frames, and they hold references to their code objects. A chain that a process made up
 * costs a bounded number of reads that fail.
 *
 *   state   the thread's value of autoTSSkey; where that is not known the one in the lists of
 *           threads whose id is our thread pointer. To 3.11 the key keeps the thread's first
 *           state, in sub-interpreters too: gilstate.tstate_current goes before it while it
 *           is ours, and the lists when there are several interpreters. The TLS variable of
 *           3.12 and later is no way: NULL whenever the GIL is released, as around native calls.
 *   entry   the outermost frame of one run of the evaluation loop has a marker, an address
 *           in the loop's own native frame: the CFrame to 3.11 (every frame is an entry to
 *           3.10), the shim frame that follows it since 3.12.
 *
 * What is verified once stands in global functions; the loop over frames calls them.
 *
 * Source   unwinding specification 1.3, 2, 4, 5
 */
#ifndef COLLECTOR_BPF_PYTHON_WALK_BPF_H
#define COLLECTOR_BPF_PYTHON_WALK_BPF_H

#include "collector/cuda_event.h"
#include "collector/python/python_description.h"

#define PYTHON_PROGRAMS_MAX     4096
#define PYTHON_CODE_SEEN        65536
#define PYTHON_DEFINITION_BYTES (4 << 20)

#define INTERPRETERS_SEARCHED 4 /* the newest ones */
#define THREADS_SEARCHED      128
#define THREAD_KEY_MAX        1024
#define CELLS_SEARCHED        4
#define FRAMES_SEARCHED       1024 /* beyond the last that is kept, for the marker of its run */

#define OWNER_SHIM         3         /* and above: a frame of the interpreter's own */
#define TYPE_IS_TYPE       (1 << 31) /* of tp_flags: instances are types */
#define TEXT_SELF          0x00000000666c6573ULL
#define TEXT_SELF_MASK     0x000000ffffffffffULL /* its NUL included */
#define TEXT_CLS           0x0000000000736c63ULL
#define TEXT_CLS_MASK      0x00000000ffffffffULL
#define POSITION_PLAUSIBLE (1 << 28)

/* For an older verifier, that does not take PYTHON_FRAMES_MAX turns of the loop. */
const volatile __u32 python_frames_limit = PYTHON_FRAMES_MAX;

__u64 python_definitions_lost = 0; /* the ring was full; user space reads and maps it */

/* Written by user space; a description of version 0 says that there is no Python. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PYTHON_PROGRAMS_MAX);
	__type(key, struct exec_identity);
	__type(value, struct python_description);
} python_programs SEC(".maps");

struct python_seen_key {
	__u64 object; /* code object or type */
	__u32 tgid;
	__u32 first_line;
	__u64 fingerprint; /* of its program and of what another object there would have otherwise */
};

/* What was sent to user space. The value says where `self` is: first_argument(). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PYTHON_CODE_SEEN);
	__type(key, struct python_seen_key);
	__type(value, __u32);
} python_seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PYTHON_DEFINITION_BYTES);
} definitions SEC(".maps");

static __always_inline __u64 user_u64(__u64 address)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (const void *)address);
	return value;
}

static __always_inline __u32 user_u32(__u64 address)
{
	__u32 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (const void *)address);
	return value;
}

static __always_inline __u8 user_u8(__u64 address)
{
	__u8 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (const void *)address);
	return value;
}

/* What holds the innermost frame of a thread to 3.12; 0 where nothing does. */
static __always_inline __u64 cframe_of_state(const struct python_description *python, __u64 state)
{
	if (python->offsets.thread_cframe == PYTHON_OFFSET_NONE)
		return 0;
	return user_u64(state + python->offsets.thread_cframe);
}

static __always_inline __u64 frame_of_state(const struct python_description *python, __u64 state,
                                            __u64 cframe)
{
	if (python->offsets.thread_frame != PYTHON_OFFSET_NONE)
		return user_u64(state + python->offsets.thread_frame);
	return user_u64(cframe + python->offsets.cframe_frame);
}

/*
 * Whether the state is that of the thread, and has a frame: a thread may have a state in each
 * interpreter, and those that rest have none.
 */
__noinline int python_is_running(const struct python_description *python, __u64 state,
                                 __u64 thread_pointer)
{
	if (!python || user_u64(state + python->offsets.thread_id) != thread_pointer)
		return 0;
	return frame_of_state(python, state, cframe_of_state(python, state)) != 0;
}

/* The first such state in the lists of the newest interpreters. */
__noinline __u64 python_state_in_lists(const struct python_description *python,
                                       __u64 thread_pointer)
{
	__u64 interpreter;

	if (!python)
		return 0;
	interpreter = user_u64(python->runtime + python->offsets.runtime_interpreters);
	for (__u32 i = 0; i < INTERPRETERS_SEARCHED && interpreter; i++) {
		__u64 state = user_u64(interpreter + python->offsets.interpreter_threads);

		for (__u32 j = 0; j < THREADS_SEARCHED && state; j++) {
			if (python_is_running(python, state, thread_pointer))
				return state;
			state = user_u64(state + python->offsets.thread_next);
		}
		interpreter = user_u64(interpreter + python->offsets.interpreter_next);
	}
	return 0;
}

/* The thread's value of autoTSSkey: struct python_thread_data. */
static __always_inline __u64 python_state_of_key(const struct python_description *python,
                                                 __u64 thread_pointer)
{
	const struct python_thread_data *data = &python->thread_data;
	const __u32 bits = data->block_bits & 31;
	const __u32 key = user_u32(python->runtime + python->offsets.runtime_key + 4);
	const __u32 place = key & ~(~0U << bits);
	__u64 block;

	if (key >= THREAD_KEY_MAX)
		return 0;
	block = user_u64(thread_pointer + data->blocks + 8ULL * (key >> bits));
	return block ? user_u64(block + (__u64)data->entry * place + data->data) : 0;
}

static __always_inline int is_of_thread(const struct python_description *python, __u64 state,
                                        __u64 thread_pointer)
{
	return state && user_u64(state + python->offsets.thread_id) == thread_pointer;
}

/* To 3.11, where several interpreters need more than the key's value. */
static __always_inline __u64 python_state_of_current(const struct python_description *python,
                                                     __u64 thread_pointer)
{
	const struct python_offsets *offsets = &python->offsets;
	const __u64 state = user_u64(python->runtime + offsets->runtime_current);
	const __u64 newest = user_u64(python->runtime + offsets->runtime_interpreters);

	if (is_of_thread(python, state, thread_pointer))
		return state;
	if (newest && user_u64(newest + offsets->interpreter_next))
		return python_state_in_lists(python, thread_pointer);
	return 0;
}

static __always_inline __u64 python_state_of(const struct python_description *python,
                                             __u64 thread_pointer)
{
	__u64 state;

	if (python->offsets.runtime_current != PYTHON_OFFSET_NONE) {
		state = python_state_of_current(python, thread_pointer);
		if (state)
			return state;
	}
	if (python->flags & PYTHON_THREAD_DATA) {
		state = python_state_of_key(python, thread_pointer);
		/* A thread without a value never ran Python. */
		if (!state || is_of_thread(python, state, thread_pointer))
			return state;
	}
	return python_state_in_lists(python, thread_pointer);
}

/* Copies the characters of a string object, as many as there is room for. */
static __always_inline void define_string(const struct python_description *python, __u64 string,
                                          struct code_string *head, __u8 *to, const __u64 capacity)
{
	const struct python_offsets *offsets = &python->offsets;
	const __u64 length = user_u64(string + offsets->string_length);
	const __u32 state = user_u32(string + offsets->string_state);
	const __u32 kind = state >> (python->string_kind_bit & 31) & 7;
	const int is_ascii = state >> (python->string_ascii_bit & 31) & 1;
	const __u64 text = string + (is_ascii ? offsets->string_ascii : offsets->string_wide);
	__u64 bytes = length < capacity ? length * kind : capacity;

	if (bytes > capacity)
		bytes = capacity;
	barrier_var(bytes);
	head->kind = kind;
	head->length = length > ~0U ? ~0U : length;
	if (bytes <= capacity && bpf_probe_read_user(to, bytes, (const void *)text))
		head->kind = CODE_STRING_UNREAD;
}

static __always_inline struct code_definition *
definition_new(const struct captured_stack *stack, const struct python_description *python,
               __u64 object, __u64 start_ns)
{
	struct code_definition *definition =
		bpf_ringbuf_reserve(&definitions, sizeof(*definition), 0);

	if (!definition) {
		__sync_fetch_and_add(&python_definitions_lost, 1);
		return NULL;
	}
	definition->version = python->version;
	definition->tgid = bpf_get_current_pid_tgid() >> 32;
	definition->process_start_ns = start_ns;
	definition->object = object;
	definition->exec = stack->exec;
	definition->reserved = 0;
	return definition;
}

/* Sends the names and the line table of a code object. 0, or -1 when it was not sent. */
__noinline int python_define_code(const struct captured_stack *stack,
                                  const struct python_description *python, __u64 code,
                                  __u32 first_line, __u64 start_ns)
{
	struct code_definition *definition;
	__u64 name;
	__u64 table;
	__u64 length;

	if (!stack || !python || user_u64(code + python->offsets.object_type) != python->code_type)
		return -1;
	definition = definition_new(stack, python, code, start_ns);
	if (!definition)
		return -1;
	definition->kind = CODE_DEFINITION_CODE;
	definition->first_line = first_line;
	name = python->offsets.code_qualified_name != PYTHON_OFFSET_NONE
	               ? python->offsets.code_qualified_name
	               : python->offsets.code_name;
	define_string(python, user_u64(code + name), &definition->name_string, definition->name,
	              sizeof(definition->name));
	define_string(python, user_u64(code + python->offsets.code_file), &definition->file_string,
	              definition->file, sizeof(definition->file));
	table = user_u64(code + python->offsets.code_lines);
	length = user_u64(table + python->offsets.bytes_length);
	definition->table_length = length < CODE_TABLE_UNREAD ? length : CODE_TABLE_UNREAD;
	if (length > sizeof(definition->table))
		length = sizeof(definition->table);
	barrier_var(length);
	if (length <= sizeof(definition->table) &&
	    bpf_probe_read_user(definition->table, length,
	                        (const void *)(table + python->offsets.bytes_data)))
		definition->table_length = CODE_TABLE_UNREAD;
	bpf_ringbuf_submit(definition, 0);
	return 0;
}

/* Sends the name of a type. 0, or -1 when it was not sent. */
__noinline int python_define_type(const struct captured_stack *stack,
                                  const struct python_description *python, __u64 type, __u64 name,
                                  __u64 start_ns)
{
	struct code_definition *definition;
	long length;

	if (!stack || !python)
		return -1;
	definition = definition_new(stack, python, type, start_ns);
	if (!definition)
		return -1;
	length = bpf_probe_read_user_str(definition->name, sizeof(definition->name),
	                                 (const void *)name);
	if (length <= 0) {
		bpf_ringbuf_discard(definition, 0);
		return -1;
	}
	definition->kind = CODE_DEFINITION_TYPE;
	definition->first_line = 0;
	definition->name_string.kind = CODE_STRING_UTF8;
	definition->name_string.length = length - 1;
	definition->file_string.kind = CODE_STRING_UTF8;
	definition->file_string.length = 0;
	definition->table_length = 0;
	bpf_ringbuf_submit(definition, 0);
	return 0;
}

/*
 * Where `self` or `cls` is, to 3.10: 0 when the first argument is neither, else 1 | place << 1,
 * the place being that of its cell among the locals (0: it is in none).
 */
__noinline __u32 python_first_argument(const struct python_description *python, __u64 code)
{
	const struct python_offsets *offsets;
	__u64 cells;
	__u64 name;
	__u64 text;

	if (!python)
		return 0;
	offsets = &python->offsets;
	if (user_u32(code + offsets->code_argument_count) == 0)
		return 0;
	name = user_u64(user_u64(code + offsets->code_variables) + offsets->tuple_items);
	text = user_u64(name + offsets->string_ascii);
	if ((text & TEXT_SELF_MASK) != TEXT_SELF && (text & TEXT_CLS_MASK) != TEXT_CLS)
		return 0;
	if (user_u64(code + offsets->code_cell_arguments) == 0)
		return 1;
	cells = user_u64(code + offsets->code_cells) + offsets->tuple_items;
	for (__u32 i = 0; i < CELLS_SEARCHED; i++)
		if (user_u64(cells + 8 * i) == name)
			return 1 | (user_u32(code + offsets->code_local_count) + i) << 1;
	return 1;
}

/* The class that the first argument is, or is an instance of. */
static __always_inline __u64 type_of_argument(const struct python_description *python, __u64 frame,
                                              __u32 argument)
{
	const __u64 locals = frame + python->offsets.frame_locals;
	__u64 object = user_u64(locals);
	__u64 type;

	if (!object && argument >> 1)
		object = user_u64(user_u64(locals + 8ULL * (argument >> 1)) +
		                  python->offsets.cell_object);
	if (!object)
		return 0;
	type = user_u64(object + python->offsets.object_type);
	return user_u64(type + python->offsets.type_flags) & (__u32)TYPE_IS_TYPE ? object : type;
}

/* Where a walk stands. */
struct python_cursor {
	__u64 frame;
	__u64 cframe; /* the current one, to 3.11 */
	__u64 start_ns;
	struct python_seen_key key; /* its fingerprint is the program's */
};

/* To 3.10: the type that a method's name gets in front; its name is sent at first sight. */
static __always_inline __u64 see_type(const struct captured_stack *stack,
                                      const struct python_description *python,
                                      const struct python_cursor *cursor, __u64 frame,
                                      __u32 argument)
{
	const __u64 type = type_of_argument(python, frame, argument);
	const __u64 name = type ? user_u64(type + python->offsets.type_name) : 0;
	struct python_seen_key key = cursor->key;
	const __u32 nothing = 0;

	if (!name)
		return 0;
	key.object = type;
	key.first_line = 0;
	key.fingerprint ^= name;
	if (!bpf_map_lookup_elem(&python_seen, &key) &&
	    python_define_type(stack, python, type, name, cursor->start_ns) == 0)
		bpf_map_update_elem(&python_seen, &key, &nothing, BPF_ANY);
	return type;
}

/* Sends the code object at its first sight. Returns where its `self` is. */
static __always_inline __u32 see_code(const struct captured_stack *stack,
                                      const struct python_description *python,
                                      const struct python_cursor *cursor,
                                      const struct python_frame *frame)
{
	const __u64 name = user_u64(frame->code + python->offsets.code_name);
	const __u64 counts = user_u64(frame->code + python->offsets.code_argument_count);
	struct python_seen_key key = cursor->key;
	const __u32 *seen;
	__u32 argument = 0;

	key.object = frame->code;
	key.first_line = frame->first_line;
	key.fingerprint ^= name ^ (counts << 20 | counts >> 44);
	seen = bpf_map_lookup_elem(&python_seen, &key);
	if (seen)
		return *seen;
	if (python->version < PYTHON_VERSION(3, 11))
		argument = python_first_argument(python, frame->code);
	if (python_define_code(stack, python, frame->code, frame->first_line, cursor->start_ns) ==
	    0)
		bpf_map_update_elem(&python_seen, &key, &argument, BPF_ANY);
	return argument;
}

/* In bytes to 3.10, in units of two bytes since; -1 before the first instruction. */
static __always_inline __s32 frame_position(const struct python_description *python, __u64 frame,
                                            __u64 code)
{
	const __u64 place = frame + python->offsets.frame_position;
	__u64 start = code + python->offsets.code_instructions;
	__s64 position;

	if (python->version < PYTHON_VERSION(3, 11)) {
		position = (__s32)user_u32(place);
		if (python->version == PYTHON_VERSION(3, 10) && position > 0)
			position *= 2;
	} else {
		/* Without the GIL each thread may have a copy of the bytecode. */
		if (python->flags & PYTHON_FREE_THREADED &&
		    python->offsets.code_copies != PYTHON_OFFSET_NONE)
			start = user_u64(user_u64(code + python->offsets.code_copies) + 8 +
			                 8ULL * user_u32(frame + python->offsets.frame_copy));
		position = (__s64)(user_u64(place) - start) >> 1;
	}
	return position < 0 || position > POSITION_PLAUSIBLE ? -1 : position;
}

static __always_inline int is_shim(const struct python_description *python, __u64 frame)
{
	return frame && python->version >= PYTHON_VERSION(3, 12) &&
	       user_u8(frame + python->offsets.frame_owner) >= OWNER_SHIM;
}

static __always_inline __u64 frame_behind(const struct python_description *python, __u64 frame)
{
	return user_u64(frame + python->offsets.frame_back);
}

/* Puts the cursor on the innermost frame. */
static __always_inline void cursor_begin(const struct python_description *python,
                                         struct python_cursor *cursor, __u64 state)
{
	cursor->cframe = cframe_of_state(python, state);
	cursor->frame = frame_of_state(python, state, cursor->cframe);
	if (is_shim(python, cursor->frame))
		cursor->frame = frame_behind(python, cursor->frame);
}

/* Fills flags and marker of the frame at the cursor; goes on to the next real one. Always 0. */
__noinline int python_pass_frame(const struct python_description *python,
                                 struct python_cursor *cursor, struct python_frame *out)
{
	__u64 frame;

	if (!python || !cursor || !out)
		return 0;
	frame = cursor->frame;
	cursor->frame = frame_behind(python, frame);
	if (is_shim(python, cursor->frame)) {
		out->flags = PYTHON_FRAME_ENTRY | PYTHON_FRAME_SHIM;
		out->marker = cursor->frame;
		cursor->frame = frame_behind(python, cursor->frame);
		if (is_shim(python, cursor->frame))
			cursor->frame = frame_behind(python, cursor->frame);
		return 0;
	}
	out->flags = 0;
	out->marker = 0;
	if (python->version >= PYTHON_VERSION(3, 12))
		return 0;
	if (python->version == PYTHON_VERSION(3, 11) &&
	    user_u8(frame + python->offsets.frame_is_entry) == 0)
		return 0;
	out->flags = PYTHON_FRAME_ENTRY;
	if (python->offsets.cframe_previous != PYTHON_OFFSET_NONE) {
		out->marker = cursor->cframe;
		cursor->cframe = user_u64(cursor->cframe + python->offsets.cframe_previous);
	}
	return 0;
}

/* Reads the frame at the cursor and goes on to the next. Always 0. */
__noinline int python_read_frame(const struct captured_stack *stack,
                                 const struct python_description *python,
                                 struct python_cursor *cursor, struct python_frame *out)
{
	__u32 argument;
	__u64 frame;

	if (!stack || !python || !cursor || !out)
		return 0;
	frame = cursor->frame;
	out->code = user_u64(frame + python->offsets.frame_code) & ~PYTHON_POINTER_TAGS;
	out->first_line = user_u32(out->code + python->offsets.code_first_line);
	out->position = frame_position(python, frame, out->code);
	out->type = 0;
	out->reserved = 0;
	python_pass_frame(python, cursor, out);
	argument = see_code(stack, python, cursor, out);
	if (argument)
		out->type = see_type(stack, python, cursor, frame, argument);
	return 0;
}

/* The marker of the run in which the cursor stands; 0 when its entry is too far away. */
__noinline __u64 python_seek_marker(const struct python_description *python,
                                    struct python_cursor *cursor)
{
	struct python_frame frame = { 0 };

	if (!python || !cursor)
		return 0;
	for (__u32 i = 0; i < FRAMES_SEARCHED && cursor->frame && !frame.marker; i++)
		python_pass_frame(python, cursor, &frame);
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
	struct python_cursor cursor = { .start_ns = start_ns, .key.tgid = tgid };
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
	cursor.key.fingerprint = start_ns ^ stack->exec.start_stack << 16 ^
	                         stack->exec.arg_start << 32;
	cursor_begin(python, &cursor, stack->python_state);
	for (; count < PYTHON_FRAMES_MAX; count++) {
		if (count >= python_frames_limit || !cursor.frame)
			break;
		python_read_frame(stack, python, &cursor, &stack->python[count]);
	}
	stack->python_count = count;
	if (!cursor.frame)
		return count;
	stack->flags |= CAPTURED_PYTHON_TRUNCATED;
	if (count > 0 && count <= PYTHON_FRAMES_MAX && !stack->python[count - 1].flags)
		stack->python[count - 1].marker = python_seek_marker(python, &cursor);
	return count;
}

#endif
