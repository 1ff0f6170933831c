/*
 * Writes recordings for tests, chunk by chunk, as the public description of the format
 * has them.
 *
 * Shape    types are described by a text, a line a class:
 *
 *		ID NAME [FIELD:TYPE ...]
 *
 *          where "*" behind a type says that the field is a key of its constants, and "[]"
 *          that it is an array. Constants and events are written by calls between
 *          jfr_writer_init() and jfr_writer_chunk(), in the order that one likes.
 * Source   ingest specification, 3.8
 *
 *	jfr_writer_init(&writer, JFR_WRITER_TYPES);
 *	jfr_writer_pool(&writer, 20, 1);
 *	jfr_writer_long(&writer.pools, 7);
 *	jfr_writer_text(&writer.pools, "main");
 *	at = jfr_writer_begin(&writer, 101);
 *	...
 *	jfr_writer_end(&writer, at);
 *	jfr_writer_chunk(&writer, &recording);
 *	jfr_writer_fini(&writer);
 */
#pragma once

#include <assert.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

#define JFR_WRITER_LIMIT ((size_t)64 << 20)
#define JFR_WRITER_HEAD  68

#define JFR_WRITER_BASE                                                                         \
	"4 boolean\n5 char\n6 float\n7 double\n8 byte\n9 short\n10 int\n11 long\n"              \
	"12 java.lang.String\n"                                                                 \
	"20 jdk.types.Symbol string:java.lang.String\n"                                         \
	"21 java.lang.Class classLoader:jdk.types.ClassLoader* name:jdk.types.Symbol* "         \
	"package:jdk.types.Package* modifiers:int\n"                                            \
	"22 jdk.types.ClassLoader type:java.lang.Class* name:jdk.types.Symbol*\n"               \
	"23 jdk.types.Package name:jdk.types.Symbol*\n"                                         \
	"24 jdk.types.Method type:java.lang.Class* name:jdk.types.Symbol* "                     \
	"descriptor:jdk.types.Symbol* modifiers:int hidden:boolean\n"                           \
	"25 jdk.types.FrameType description:java.lang.String\n"                                 \
	"26 jdk.types.StackFrame method:jdk.types.Method* lineNumber:int bytecodeIndex:int "    \
	"type:jdk.types.FrameType*\n"                                                           \
	"27 jdk.types.StackTrace truncated:boolean frames:jdk.types.StackFrame[]\n"             \
	"28 jdk.types.ThreadState name:java.lang.String\n"                                      \
	"29 java.lang.Thread osName:java.lang.String osThreadId:long javaName:java.lang.String" \
	" javaThreadId:long\n"

#define JFR_WRITER_EVENTS                                                                    \
	"101 jdk.ExecutionSample startTime:long sampledThread:java.lang.Thread* "            \
	"stackTrace:jdk.types.StackTrace* state:jdk.types.ThreadState* contextId:long "      \
	"spanId:long spanName:long\n"                                                        \
	"102 jdk.ActiveSetting startTime:long duration:long eventThread:java.lang.Thread* "  \
	"stackTrace:jdk.types.StackTrace* id:long name:java.lang.String "                    \
	"value:java.lang.String\n"                                                           \
	"103 profiler.WallClockSample startTime:long sampledThread:java.lang.Thread* "       \
	"stackTrace:jdk.types.StackTrace* state:jdk.types.ThreadState* samples:int "         \
	"contextId:long spanId:long spanName:long\n"                                         \
	"104 jdk.ObjectAllocationInNewTLAB startTime:long stackTrace:jdk.types.StackTrace* " \
	"objectClass:java.lang.Class* allocationSize:long tlabSize:long contextId:long "     \
	"spanId:long spanName:long\n"                                                        \
	"105 jdk.ObjectAllocationOutsideTLAB startTime:long "                                \
	"stackTrace:jdk.types.StackTrace* allocationSize:long contextId:long spanId:long "   \
	"spanName:long\n"                                                                    \
	"106 jdk.ObjectAllocationSample startTime:long stackTrace:jdk.types.StackTrace* "    \
	"weight:long contextId:long\n"                                                       \
	"107 jdk.JavaMonitorEnter startTime:long duration:long "                             \
	"stackTrace:jdk.types.StackTrace* contextId:long spanId:long spanName:long\n"        \
	"108 jdk.ThreadPark startTime:long duration:long stackTrace:jdk.types.StackTrace* "  \
	"contextId:long\n"                                                                   \
	"109 profiler.LiveObject startTime:long stackTrace:jdk.types.StackTrace* "           \
	"allocationTime:long contextId:long\n"                                               \
	"110 profiler.Malloc startTime:long stackTrace:jdk.types.StackTrace* address:long "  \
	"size:long contextId:long\n"

#define JFR_WRITER_TYPES JFR_WRITER_BASE JFR_WRITER_EVENTS

struct jfr_writer {
	const char *types;
	bool fixed; /* numbers are not compressed */
	struct strbuf pools;
	size_t pool_count;
	struct strbuf records; /* what stands between header and constants */
	int64_t older;         /* place of the checkpoint before, from the chunk's beginning */
};

static inline void jfr_writer_init(struct jfr_writer *writer, const char *types)
{
	*writer = (struct jfr_writer){ .types = types };
	strbuf_init(&writer->pools, JFR_WRITER_LIMIT);
	strbuf_init(&writer->records, JFR_WRITER_LIMIT);
}

static inline void jfr_writer_fini(struct jfr_writer *writer)
{
	strbuf_fini(&writer->pools);
	strbuf_fini(&writer->records);
}

static inline void jfr_writer_fixed(struct strbuf *out, size_t width, uint64_t number)
{
	for (size_t i = width; i > 0; i--)
		strbuf_add_byte(out, (char)(number >> (8 * (i - 1))));
}

static inline void jfr_writer_compressed(struct strbuf *out, uint64_t number)
{
	for (int i = 0; i < 8 && number >= 0x80; i++) {
		strbuf_add_byte(out, (char)(number | 0x80));
		number >>= 7;
	}
	strbuf_add_byte(out, (char)number);
}

static inline void jfr_writer_number(const struct jfr_writer *writer, struct strbuf *out,
                                     size_t width, uint64_t number)
{
	if (writer->fixed)
		jfr_writer_fixed(out, width, number);
	else
		jfr_writer_compressed(out, number);
}

static inline void jfr_writer_int(const struct jfr_writer *writer, struct strbuf *out,
                                  int64_t number)
{
	jfr_writer_number(writer, out, 4, (uint32_t)number);
}

static inline void jfr_writer_long(const struct jfr_writer *writer, struct strbuf *out,
                                   uint64_t number)
{
	jfr_writer_number(writer, out, 8, number);
}

/* A string in UTF-8. */
static inline void jfr_writer_str(const struct jfr_writer *writer, struct strbuf *out,
                                  struct str text)
{
	strbuf_add_byte(out, 3);
	jfr_writer_int(writer, out, (int64_t)text.length);
	strbuf_add_str(out, text);
}

static inline void jfr_writer_text(const struct jfr_writer *writer, struct strbuf *out,
                                   const char *text)
{
	jfr_writer_str(writer, out, str_of(text));
}

/* Opens the constants of a class: `count` pairs of a key and a value follow. */
static inline void jfr_writer_pool(struct jfr_writer *writer, uint64_t class, size_t count)
{
	jfr_writer_long(writer, &writer->pools, class);
	jfr_writer_int(writer, &writer->pools, (int64_t)count);
	writer->pool_count++;
}

/* ---- records ---- */

/* A size of four bytes, which says nothing yet, and a type. */
static inline size_t jfr_writer_begin_record(const struct jfr_writer *writer, struct strbuf *out,
                                             uint64_t type)
{
	const size_t at = out->length;

	strbuf_add(out, "\0\0\0\0", 4);
	jfr_writer_long(writer, out, type);
	return at;
}

static inline void jfr_writer_end_record(const struct jfr_writer *writer, struct strbuf *out,
                                         size_t at)
{
	const size_t size = out->length - at;

	for (unsigned i = 0; i < 4; i++)
		out->data[at + i] = (char)(writer->fixed
		                                   ? size >> (8 * (3 - i))
		                                   : (size >> (7 * i) & 0x7f) | (i < 3 ? 0x80 : 0));
}

static inline size_t jfr_writer_begin(struct jfr_writer *writer, uint64_t type)
{
	return jfr_writer_begin_record(writer, &writer->records, type);
}

static inline void jfr_writer_end(struct jfr_writer *writer, size_t at)
{
	jfr_writer_end_record(writer, &writer->records, at);
}

/* The constants so far as a checkpoint record at the end of `out`, at `place`. */
static inline void jfr_writer_put_checkpoint(struct jfr_writer *writer, struct strbuf *out,
                                             int64_t place)
{
	const size_t at = jfr_writer_begin_record(writer, out, 1);

	jfr_writer_long(writer, out, 1);
	jfr_writer_long(writer, out, 2);
	jfr_writer_long(writer, out, (uint64_t)(writer->older > 0 ? writer->older - place : 0));
	strbuf_add_byte(out, 1);
	jfr_writer_int(writer, out, (int64_t)writer->pool_count);
	strbuf_add_str(out, strbuf_view(&writer->pools));
	jfr_writer_end_record(writer, out, at);
	strbuf_reset(&writer->pools);
	writer->pool_count = 0;
	writer->older = place;
}

/* Closes a checkpoint among the events; the chunk's own leads to it. */
static inline void jfr_writer_checkpoint(struct jfr_writer *writer)
{
	jfr_writer_put_checkpoint(writer, &writer->records,
	                          JFR_WRITER_HEAD + (int64_t)writer->records.length);
}

/* ---- metadata ---- */

/* The strings of a metadata record: each use has its own. */
struct jfr_writer_strings {
	struct strbuf bytes;
	size_t count;
};

static inline size_t jfr_writer_intern(const struct jfr_writer *writer,
                                       struct jfr_writer_strings *strings, struct str text)
{
	jfr_writer_str(writer, &strings->bytes, text);
	return strings->count++;
}

static inline struct str jfr_writer_id(const struct jfr_writer *writer, struct str name)
{
	struct str rest = str_of(writer->types);
	struct str line;
	struct str id;
	struct str found;

	while (str_split(&rest, '\n', &line))
		if (str_split(&line, ' ', &id) && str_split(&line, ' ', &found) &&
		    str_equal(found, name))
			return id;
	return STR("99999"); /* described nowhere */
}

static inline void jfr_writer_attribute(const struct jfr_writer *writer,
                                        struct jfr_writer_strings *strings, struct strbuf *out,
                                        const char *key, struct str value)
{
	jfr_writer_int(writer, out, (int64_t)jfr_writer_intern(writer, strings, str_of(key)));
	jfr_writer_int(writer, out, (int64_t)jfr_writer_intern(writer, strings, value));
}

static inline void jfr_writer_element(const struct jfr_writer *writer,
                                      struct jfr_writer_strings *strings, struct strbuf *out,
                                      const char *name, int64_t attributes)
{
	jfr_writer_int(writer, out, (int64_t)jfr_writer_intern(writer, strings, str_of(name)));
	jfr_writer_int(writer, out, attributes);
}

static inline void jfr_writer_field(const struct jfr_writer *writer,
                                    struct jfr_writer_strings *strings, struct strbuf *out,
                                    struct str field)
{
	const bool is_array = str_ends_with(field, STR("[]"));
	struct str name;
	bool is_pooled;

	if (is_array)
		field.length -= 2;
	is_pooled = str_ends_with(field, STR("*"));
	if (is_pooled)
		field.length--;
	(void)str_split(&field, ':', &name);
	jfr_writer_element(writer, strings, out, "field", 2 + is_pooled + is_array);
	jfr_writer_attribute(writer, strings, out, "name", name);
	jfr_writer_attribute(writer, strings, out, "class", jfr_writer_id(writer, field));
	if (is_pooled)
		jfr_writer_attribute(writer, strings, out, "constantPool", STR("true"));
	if (is_array)
		jfr_writer_attribute(writer, strings, out, "dimension", STR("1"));
	/* A child that readers pass over. */
	jfr_writer_int(writer, out, 1);
	jfr_writer_element(writer, strings, out, "annotation", 0);
	jfr_writer_int(writer, out, 0);
}

static inline void jfr_writer_class(const struct jfr_writer *writer,
                                    struct jfr_writer_strings *strings, struct strbuf *out,
                                    struct str line)
{
	struct str id;
	struct str name;
	struct str field;
	struct str rest;
	int64_t count = 0;

	(void)str_split(&line, ' ', &id);
	(void)str_split(&line, ' ', &name);
	jfr_writer_element(writer, strings, out, "class", 2);
	jfr_writer_attribute(writer, strings, out, "name", name);
	jfr_writer_attribute(writer, strings, out, "id", id);
	for (rest = line; rest.length > 0 && str_split(&rest, ' ', &field);)
		count++;
	jfr_writer_int(writer, out, count);
	for (rest = line; rest.length > 0 && str_split(&rest, ' ', &field);)
		jfr_writer_field(writer, strings, out, field);
}

static inline void jfr_writer_metadata(const struct jfr_writer *writer, struct strbuf *out)
{
	struct str rest = str_of(writer->types);
	CLEANUP(strbuf_fini) struct strbuf elements;
	struct jfr_writer_strings strings = { .count = 0 };
	int64_t classes = 0;
	struct str line;
	size_t at;

	strbuf_init(&elements, JFR_WRITER_LIMIT);
	strbuf_init(&strings.bytes, JFR_WRITER_LIMIT);
	while (str_split(&rest, '\n', &line))
		classes += line.length > 0;
	jfr_writer_element(writer, &strings, &elements, "root", 0);
	jfr_writer_int(writer, &elements, 2);
	jfr_writer_element(writer, &strings, &elements, "metadata", 0);
	jfr_writer_int(writer, &elements, classes);
	rest = str_of(writer->types);
	while (str_split(&rest, '\n', &line))
		if (line.length > 0)
			jfr_writer_class(writer, &strings, &elements, line);
	jfr_writer_element(writer, &strings, &elements, "region", 1);
	jfr_writer_attribute(writer, &strings, &elements, "locale", STR("en_US"));
	jfr_writer_int(writer, &elements, 0);

	at = jfr_writer_begin_record(writer, out, 0);
	jfr_writer_long(writer, out, 1);
	jfr_writer_long(writer, out, 0);
	jfr_writer_long(writer, out, 1);
	jfr_writer_int(writer, out, (int64_t)strings.count);
	strbuf_add_str(out, strbuf_view(&strings.bytes));
	strbuf_add_str(out, strbuf_view(&elements));
	jfr_writer_end_record(writer, out, at);
	strbuf_fini(&strings.bytes);
}

/* ---- chunks ---- */

static inline void jfr_writer_patch(struct strbuf *out, size_t at, uint64_t number)
{
	for (unsigned i = 0; i < 8; i++)
		out->data[at + i] = (char)(number >> (8 * (7 - i)));
}

/* Appends the chunk to `out`: header, events, constants, types. The writer is empty then. */
static inline void jfr_writer_chunk(struct jfr_writer *writer, struct strbuf *out)
{
	const size_t first = out->length;

	strbuf_add(out, "FLR\0\0\2\0\1", 8);
	for (int i = 0; i < 6; i++)
		jfr_writer_fixed(out, 8, 0);
	jfr_writer_fixed(out, 8, 1000000000);
	jfr_writer_fixed(out, 4, writer->fixed ? 0 : 1);
	assert(out->length - first == JFR_WRITER_HEAD);
	strbuf_add_str(out, strbuf_view(&writer->records));
	jfr_writer_patch(out, first + 16, out->length - first);
	jfr_writer_put_checkpoint(writer, out, (int64_t)(out->length - first));
	jfr_writer_patch(out, first + 24, out->length - first);
	jfr_writer_metadata(writer, out);
	jfr_writer_patch(out, first + 8, out->length - first);
	strbuf_reset(&writer->records);
	writer->older = 0;
	assert(!strbuf_overflowed(out));
}

/* ---- what most tests are about ---- */

/* Symbols, classes and methods: class and method number i + 1 have the name names[i]. */
static inline void jfr_writer_methods(struct jfr_writer *writer, const char *const names[][2],
                                      size_t count)
{
	struct strbuf *out = &writer->pools;

	jfr_writer_pool(writer, 20, 2 * count);
	for (size_t i = 0; i < count; i++)
		for (size_t part = 0; part < 2; part++) {
			jfr_writer_long(writer, out, 1 + 2 * i + part);
			jfr_writer_text(writer, out, names[i][part]);
		}
	jfr_writer_pool(writer, 21, count);
	for (size_t i = 0; i < count; i++) {
		jfr_writer_long(writer, out, i + 1);
		jfr_writer_long(writer, out, 0);
		jfr_writer_long(writer, out, 1 + 2 * i);
		jfr_writer_long(writer, out, 0);
		jfr_writer_int(writer, out, 1);
	}
	jfr_writer_pool(writer, 24, count);
	for (size_t i = 0; i < count; i++) {
		jfr_writer_long(writer, out, i + 1);
		jfr_writer_long(writer, out, i + 1);
		jfr_writer_long(writer, out, 2 + 2 * i);
		jfr_writer_long(writer, out, 0);
		jfr_writer_int(writer, out, 1);
		strbuf_add_byte(out, 0);
	}
}

/* A value of the stack traces' pool: methods leaf first, method m at line 10 * m. */
static inline void jfr_writer_trace(struct jfr_writer *writer, uint64_t key,
                                    const uint64_t *methods, size_t count)
{
	struct strbuf *out = &writer->pools;

	jfr_writer_long(writer, out, key);
	strbuf_add_byte(out, 0);
	jfr_writer_int(writer, out, (int64_t)count);
	for (size_t i = 0; i < count; i++) {
		jfr_writer_long(writer, out, methods[i]);
		jfr_writer_int(writer, out, (int64_t)(10 * methods[i]));
		jfr_writer_int(writer, out, 3);
		jfr_writer_long(writer, out, 1);
	}
}

/* States 1 and 2: running and asleep. */
static inline void jfr_writer_states(struct jfr_writer *writer)
{
	jfr_writer_pool(writer, 28, 2);
	jfr_writer_long(writer, &writer->pools, 1);
	jfr_writer_text(writer, &writer->pools, "STATE_RUNNABLE");
	jfr_writer_long(writer, &writer->pools, 2);
	jfr_writer_text(writer, &writer->pools, "STATE_SLEEPING");
}

/* An event whose fields are all numbers and keys, which are written as longs or ints. */
static inline void jfr_writer_event(struct jfr_writer *writer, uint64_t type,
                                    const uint64_t *fields, size_t count)
{
	const size_t at = jfr_writer_begin(writer, type);

	for (size_t i = 0; i < count; i++)
		jfr_writer_long(writer, &writer->records, fields[i]);
	jfr_writer_end(writer, at);
}

#define JFR_WRITER_EVENT(writer, type, ...)                         \
	jfr_writer_event(writer, type, (uint64_t[]){ __VA_ARGS__ }, \
	                 sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* jdk.ActiveSetting: what is recorded. */
static inline void jfr_writer_setting(struct jfr_writer *writer, const char *name,
                                      const char *value)
{
	const size_t at = jfr_writer_begin(writer, 102);

	for (int i = 0; i < 5; i++)
		jfr_writer_long(writer, &writer->records, 0);
	jfr_writer_text(writer, &writer->records, name);
	jfr_writer_text(writer, &writer->records, value);
	jfr_writer_end(writer, at);
}
