#include "collector/python/named_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "collector/python/line_table.h"
#include "collector/python/python_text.h"

#define RECENT_LINES 4 /* a power of two: most functions allocate at one place or a few */
#define NAME_TEXT    PYTHON_TEXT_MAX(CODE_NAME_BYTES)

/* The name of the function as a method of one class. */
struct method_name {
	struct method_name *next;
	uint64_t type_serial;
	size_t length;
	char text[];
};

struct recent_line {
	int32_t position;
	int32_t line; /* -1: nothing is here */
};

struct named_code {
	uint64_t serial;
	uint64_t object;
	uint32_t version;
	uint32_t first_line;
	struct str name;
	struct str file;
	struct str table;    /* as much of it as there is */
	size_t table_length; /* of the whole */
	char *whole_table;   /* read later; or NULL */
	struct method_name *methods;
	struct recent_line recent[RECENT_LINES];
	bool is_unknown;
	bool table_asked;
	size_t bytes;
	char text[];
};

/* The file's type names are "module.Name"; those of classes have no module. */
static struct str behind_last_dot(struct str name)
{
	const ptrdiff_t dot = str_last_index(name, '.');

	return dot < 0 || (size_t)dot + 1 == name.length ? name : str_skip(name, (size_t)dot + 1);
}

/* The texts of a definition, in a buffer. */
struct definition_text {
	char name_text[NAME_TEXT];
	char file_text[NAME_TEXT];
	struct str name;
	struct str file;
	struct str table;
};

static void write_text(const struct code_definition *definition, struct definition_text *out)
{
	size_t table_sent = definition->table_length < CODE_TABLE_BYTES ? definition->table_length
	                                                                : CODE_TABLE_BYTES;

	if (definition->table_length == CODE_TABLE_UNREAD)
		table_sent = 0;

	out->name =
		str_make(out->name_text, python_text_put(&definition->name_string, definition->name,
	                                                 sizeof(definition->name), out->name_text));
	out->file =
		str_make(out->file_text, python_text_put(&definition->file_string, definition->file,
	                                                 sizeof(definition->file), out->file_text));
	out->table = str_make(definition->table, table_sent);
	if (definition->kind == CODE_DEFINITION_TYPE)
		out->name = behind_last_dot(out->name);
	if (out->name.length == 0)
		out->name = STR(PYTHON_UNKNOWN_NAME);
}

static struct str keep(char **at, struct str text)
{
	const struct str kept = { *at, text.length };

	if (text.length > 0)
		memcpy(*at, text.data, text.length);
	*at += text.length;
	return kept;
}

static struct named_code *code_of_text(const struct definition_text *text, uint64_t serial)
{
	const size_t bytes = sizeof(struct named_code) + text->name.length + text->file.length +
	                     text->table.length;
	struct named_code *code = mem_zalloc(1, bytes);
	char *at = code->text;

	code->serial = serial;
	code->bytes = bytes;
	code->name = keep(&at, text->name);
	code->file = keep(&at, text->file);
	code->table = keep(&at, text->table);
	for (size_t i = 0; i < RECENT_LINES; i++)
		code->recent[i].line = -1;
	return code;
}

struct named_code *named_code_new(const struct code_definition *definition, uint64_t serial)
{
	struct definition_text text;
	struct named_code *code;

	write_text(definition, &text);
	code = code_of_text(&text, serial);
	code->object = definition->object;
	code->version = definition->version;
	code->first_line = definition->first_line;
	code->table_length = definition->table_length;
	return code;
}

struct named_code *named_code_new_unknown(uint64_t serial)
{
	const struct definition_text text = {
		.name = STR(PYTHON_UNKNOWN_NAME),
		.file = STR(PYTHON_UNKNOWN_FILE),
	};
	struct named_code *code = code_of_text(&text, serial);

	code->is_unknown = true;
	code->table_length = CODE_TABLE_UNREAD;
	return code;
}

void named_code_free(struct named_code *code)
{
	if (!code)
		return;
	while (code->methods) {
		struct method_name *method = code->methods;

		code->methods = method->next;
		free(method);
	}
	free(code->whole_table);
	free(code);
}

bool named_code_is(const struct named_code *code, const struct code_definition *definition)
{
	struct definition_text text;

	write_text(definition, &text);
	return !code->is_unknown && code->version == definition->version &&
	       code->first_line == definition->first_line &&
	       code->table_length == definition->table_length && str_equal(code->name, text.name) &&
	       str_equal(code->file, text.file) &&
	       str_equal(str_first(code->table, text.table.length), text.table);
}

bool named_code_is_unknown(const struct named_code *code)
{
	return code->is_unknown;
}

struct str named_code_name(const struct named_code *code)
{
	return code->name;
}

struct str named_code_file(const struct named_code *code)
{
	return code->file;
}

uint32_t named_code_version(const struct named_code *code)
{
	return code->version;
}

uint32_t named_code_first_line(const struct named_code *code)
{
	return code->first_line;
}

struct str named_code_method(struct named_code *code, const struct named_code *type)
{
	const size_t length = type->name.length + 1 + code->name.length;
	struct method_name *method = code->methods;
	char *at;

	while (method && method->type_serial != type->serial)
		method = method->next;
	if (method)
		return str_make(method->text, method->length);
	method = mem_zalloc(1, sizeof(*method) + length);
	method->type_serial = type->serial;
	method->length = length;
	at = method->text;
	keep(&at, type->name);
	keep(&at, STR("."));
	keep(&at, code->name);
	method->next = code->methods;
	code->methods = method;
	code->bytes += sizeof(*method) + length;
	return str_make(method->text, length);
}

/* Takes the whole of a cut table, if its process still has it. */
static void read_whole_table(struct named_code *code, const struct python_memory *memory,
                             const struct python_description *python)
{
	const size_t length = code->table_length < LINE_TABLE_MAX ? code->table_length
	                                                          : LINE_TABLE_MAX;
	CLEANUP(mem_freep) char *whole = mem_zalloc(1, length);

	code->table_asked = true;
	if (code_reader_table(memory, python, code->object, code->table_length, (uint8_t *)whole,
	                      length) != length ||
	    memcmp(whole, code->table.data, code->table.length) != 0)
		return;
	code->whole_table = TAKE(whole);
	code->table = str_make(code->whole_table, length);
	code->bytes += length;
}

static int64_t find_line(const struct named_code *code, int32_t position)
{
	const struct line_table table = { .bytes = code->table,
		                          .version = code->version,
		                          .first_line = code->first_line,
		                          .length = code->table_length };

	return code->table_length == CODE_TABLE_UNREAD ? 0 : line_table_find(&table, position);
}

int64_t named_code_line(struct named_code *code, int32_t position,
                        const struct python_memory *memory, const struct python_description *python)
{
	struct recent_line *recent = &code->recent[((uint32_t)position >> 1) & (RECENT_LINES - 1)];
	int64_t line;

	if (recent->line >= 0 && recent->position == position)
		return recent->line;
	line = find_line(code, position);
	if (line == 0 && code->table.length > 0 && code->table.length < code->table_length &&
	    !code->table_asked && memory && python) {
		read_whole_table(code, memory, python);
		line = find_line(code, position);
	}
	if (line != 0 || code->table_asked)
		*recent = (struct recent_line){ position, (int32_t)line };
	return line;
}

size_t named_code_bytes(const struct named_code *code)
{
	return code->bytes;
}
