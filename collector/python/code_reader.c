#include "collector/python/code_reader.h"

#include <string.h>

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* As define_string() of the kernel side. */
static void read_string(const struct python_memory *memory, const struct python_description *python,
                        uint64_t string, struct code_string *head, uint8_t *to, size_t capacity)
{
	const struct python_offsets *offsets = &python->offsets;
	const uint64_t length = python_memory_u64(memory, string + offsets->string_length);
	const uint32_t state = python_memory_u32(memory, string + offsets->string_state);
	const uint32_t kind = state >> python->string_kind_bit & 7;
	const bool is_ascii = state >> python->string_ascii_bit & 1;
	const uint64_t text = string + (is_ascii ? offsets->string_ascii : offsets->string_wide);

	head->kind = kind;
	head->length = (uint32_t)least(length, UINT32_MAX);
	if (!python_memory_read(memory, text, to, least(least(length, capacity) * kind, capacity)))
		head->kind = CODE_STRING_UNREAD;
}

static void read_table(const struct python_memory *memory, const struct python_description *python,
                       struct code_definition *out)
{
	const uint64_t table = python_memory_u64(memory, out->object + python->offsets.code_lines);
	const uint64_t length = python_memory_u64(memory, table + python->offsets.bytes_length);

	out->table_length = (uint32_t)least(length, CODE_TABLE_UNREAD);
	if (!python_memory_read(memory, table + python->offsets.bytes_data, out->table,
	                        least(length, sizeof(out->table))))
		out->table_length = CODE_TABLE_UNREAD;
}

/* As code_content() of the kernel side. */
static uint32_t read_tag(const struct python_memory *memory,
                         const struct python_description *python, uint64_t code)
{
	const struct python_offsets *offsets = &python->offsets;
	const uint64_t name = python_memory_u64(memory, code + offsets->code_name);
	const uint64_t lines = python_memory_u64(memory, code + offsets->code_lines);
	uint64_t serial;

	if (offsets->code_serial != PYTHON_OFFSET_NONE)
		serial = python_memory_u32(memory, code + offsets->code_serial);
	else
		serial = python_memory_u64(memory, name + offsets->string_hash);
	return python_code_tag(python_code_content(name, lines, serial));
}

bool code_reader_code(const struct python_memory *memory, const struct python_description *python,
                      const struct python_frame *frame, struct code_definition *out)
{
	const struct python_offsets *offsets = &python->offsets;
	const uint32_t name = offsets->code_qualified_name != PYTHON_OFFSET_NONE
	                              ? offsets->code_qualified_name
	                              : offsets->code_name;

	if (python_memory_u64(memory, frame->code + offsets->object_type) != python->code_type ||
	    python_memory_u32(memory, frame->code + offsets->code_first_line) !=
	            frame->first_line ||
	    (frame->tag != 0 && read_tag(memory, python, frame->code) != frame->tag))
		return false;
	memset(out, 0, sizeof(*out));
	out->kind = CODE_DEFINITION_CODE;
	out->version = python->version;
	out->object = frame->code;
	out->tag = frame->tag;
	out->first_line = frame->first_line;
	read_string(memory, python, python_memory_u64(memory, frame->code + name),
	            &out->name_string, out->name, sizeof(out->name));
	read_string(memory, python, python_memory_u64(memory, frame->code + offsets->code_file),
	            &out->file_string, out->file, sizeof(out->file));
	read_table(memory, python, out);
	return out->name_string.kind != CODE_STRING_UNREAD;
}

bool code_reader_type(const struct python_memory *memory, const struct python_description *python,
                      uint64_t type, struct code_definition *out)
{
	const uint64_t name = python_memory_u64(memory, type + python->offsets.type_name);
	size_t length;

	memset(out, 0, sizeof(*out));
	if (name == 0)
		return false;
	/* The text may end just before memory that is not there. */
	length = memory->read(memory->context, name, out->name, sizeof(out->name) - 1);
	length = strnlen((const char *)out->name, length);
	out->kind = CODE_DEFINITION_TYPE;
	out->version = python->version;
	out->object = type;
	out->name_string = (struct code_string){ CODE_STRING_UTF8, (uint32_t)length };
	return length > 0;
}

size_t code_reader_table(const struct python_memory *memory,
                         const struct python_description *python, uint64_t code, size_t length,
                         uint8_t *to, size_t capacity)
{
	const uint64_t table = python_memory_u64(memory, code + python->offsets.code_lines);
	const size_t wanted = least(length, capacity);

	if (python_memory_u64(memory, code + python->offsets.object_type) != python->code_type ||
	    python_memory_u64(memory, table + python->offsets.bytes_length) != length ||
	    !python_memory_read(memory, table + python->offsets.bytes_data, to, wanted))
		return 0;
	return wanted;
}
