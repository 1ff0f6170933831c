// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Names of code objects and types, sent to user space at their first sight in a process.
 *
 * Source   unwinding specification 3.3, 4, 5.2
 */
#ifndef COLLECTOR_BPF_PYTHON_CODE_BPF_H
#define COLLECTOR_BPF_PYTHON_CODE_BPF_H

#include "collector/bpf/python_seen.bpf.h"
#include "collector/bpf/python_user.bpf.h"
#include "collector/cuda_event.h"
#include "collector/python/python_description.h"

#define PYTHON_DEFINITION_BYTES (4 << 20)

#define CELLS_SEARCHED 4
#define TYPE_IS_TYPE   (1U << 31) /* of tp_flags: instances are types */
#define TEXT_SELF      0x00000000666c6573ULL
#define TEXT_SELF_MASK 0x000000ffffffffffULL /* its NUL included */
#define TEXT_CLS       0x0000000000736c63ULL
#define TEXT_CLS_MASK  0x00000000ffffffffULL

__u64 python_definitions_lost = 0; /* the ring was full; user space reads and maps it */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, PYTHON_DEFINITION_BYTES);
} definitions SEC(".maps");

/* Where a walk over a thread's frames stands: python_walk.bpf.h. */
struct python_cursor {
	__u64 frame;  /* it lies in the window */
	__u64 passed; /* the one that was read last */
	__u64 cframe; /* the current one, to 3.11 */
	__u64 window; /* its first address, and the one behind its last */
	__u64 window_end;
	__u64 start_ns;
	__u64 program_hash;
	__u64 code_hash; /* of the code object that was read last */
	__u32 tgid;
	__u32 code_tag; /* likewise */
};

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
               const struct python_cursor *cursor, __u64 object)
{
	struct code_definition *definition =
		bpf_ringbuf_reserve(&definitions, sizeof(*definition), 0);

	if (!definition) {
		__sync_fetch_and_add(&python_definitions_lost, 1);
		return NULL;
	}
	definition->version = python->version;
	definition->tgid = cursor->tgid;
	definition->process_start_ns = cursor->start_ns;
	definition->object = object;
	definition->exec = stack->exec;
	definition->tag = 0;
	return definition;
}

/* Sends the names and the line table of a code object. 0, or -1 when it was not sent. */
__noinline int python_define_code(const struct captured_stack *stack,
                                  const struct python_description *python,
                                  const struct python_cursor *cursor, __u64 code, __u32 first_line)
{
	struct code_definition *definition;
	__u64 name;
	__u64 table;
	__u64 length;

	if (!stack || !python || !cursor ||
	    user_u64(code + python->offsets.object_type) != python->code_type)
		return -1;
	definition = definition_new(stack, python, cursor, code);
	if (!definition)
		return -1;
	definition->kind = CODE_DEFINITION_CODE;
	definition->tag = cursor->code_tag;
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
                                  const struct python_description *python,
                                  const struct python_cursor *cursor, __u64 type, __u64 name)
{
	struct code_definition *definition;
	long length;

	if (!stack || !python || !cursor)
		return -1;
	definition = definition_new(stack, python, cursor, type);
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
 * the place being that of its cell among the locals (0: it is in none). No more than
 * PYTHON_SEEN_NOTE.
 */
__noinline __u32 python_first_argument(const struct python_description *python, __u64 code)
{
	const struct python_offsets *offsets;
	__u32 place = 0;
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
		if (user_u64(cells + 8 * i) == name) {
			place = user_u32(code + offsets->code_local_count) + i;
			break;
		}
	return place > PYTHON_SEEN_NOTE >> 1 ? 1 : 1 | place << 1;
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
	return user_u64(type + python->offsets.type_flags) & TYPE_IS_TYPE ? object : type;
}

#endif
