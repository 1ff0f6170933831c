#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/python/code_names.h"
#include "collector/python/named_code.h"
#include "tests/unit/collector/python/python_image.h"

#define TGID     77
#define START_NS 5000

/* 2 units of line 0 after the first, 2 units of the next line. */
#define TWO_LINES "\x81\x00\xd9\x01\x02"

static struct code_definition definition_of(uint64_t object, const char *name, uint32_t first_line)
{
	struct code_definition definition = { .kind = CODE_DEFINITION_CODE,
		                              .version = 0x030c,
		                              .tgid = TGID,
		                              .process_start_ns = START_NS,
		                              .object = object,
		                              .first_line = first_line,
		                              .table_length = sizeof(TWO_LINES) - 1 };

	definition.name_string = (struct code_string){ CODE_STRING_LATIN1, (uint32_t)strlen(name) };
	memcpy(definition.name, name, strlen(name));
	definition.file_string = (struct code_string){ CODE_STRING_LATIN1, 4 };
	memcpy(definition.file, "a.py", 4);
	memcpy(definition.table, TWO_LINES, sizeof(TWO_LINES) - 1);
	return definition;
}

static void define(struct code_names *names, const struct code_definition *definition)
{
	code_names_define(names, definition, sizeof(*definition));
}

static struct code_process process_of(const struct python_image *image,
                                      const struct python_memory *memory)
{
	return (struct code_process){ .tgid = TGID,
		                      .start_ns = START_NS,
		                      .python = image ? &image->python : NULL,
		                      .memory = memory };
}

static void expect(struct code_names *names, const struct code_process *process,
                   const struct python_frame *frame, const char *name, int64_t line)
{
	struct code_name found;

	code_names_find(names, process, frame, &found);
	if (!str_equals(found.name, name))
		fail_msg("%.*s instead of %s", STR_ARGS(found.name), name);
	assert_int_equal(found.line, line);
}

static struct code_names_counts counts_of(const struct code_names *names)
{
	struct code_names_counts counts;

	code_names_counts(names, &counts);
	return counts;
}

static struct code_names *names_new(size_t limit, size_t process_limit)
{
	return code_names_new(&(struct code_names_options){ .limit_bytes = limit,
	                                                    .process_limit_bytes = process_limit });
}

static void a_definition_names_a_frame(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(0, 0);
	const struct code_process process = process_of(NULL, NULL);
	const struct code_definition definition = definition_of(0x1000, "Block.forward", 40);
	struct python_frame frame = { .code = 0x1000, .first_line = 40, .position = 2 };
	struct code_name found;

	(void)state;
	define(names, &definition);
	expect(names, &process, &frame, "Block.forward", 41);
	frame.position = -1;
	code_names_find(names, &process, &frame, &found);
	assert_true(str_equals(found.file, "a.py"));
	assert_int_equal(found.line, 40);
	assert_int_equal(found.first_line, 40);
	assert_int_equal(found.version, 0x030c);
	assert_int_equal(counts_of(names).definitions, 1);
	assert_int_equal(counts_of(names).unknown, 0);
}

static void a_code_object_is_its_place_its_line_and_its_process(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(0, 0);
	struct code_process process = process_of(NULL, NULL);
	const struct code_definition definition = definition_of(0x1000, "f", 1);
	struct python_frame frame = { .code = 0x1000, .first_line = 2 };

	(void)state;
	define(names, &definition);
	expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);
	frame.first_line = 1;
	expect(names, &process, &frame, "f", 1);
	process.start_ns++;
	expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);
	process.start_ns--;
	process.tgid += 1024;
	expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);
	assert_int_equal(counts_of(names).processes, 3);
	assert_int_equal(counts_of(names).unknown, 3);
}

static void a_newer_definition_goes_before_an_older_one(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(0, 0);
	const struct code_process process = process_of(NULL, NULL);
	const struct python_frame frame = { .code = 0x1000, .first_line = 1 };
	struct code_definition definition = definition_of(0x1000, "old", 1);
	size_t bytes;

	(void)state;
	expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);
	define(names, &definition);
	expect(names, &process, &frame, "old", 1);
	bytes = counts_of(names).bytes;
	define(names, &definition);
	assert_int_equal(counts_of(names).bytes, bytes);
	definition = definition_of(0x1000, "new", 1);
	define(names, &definition);
	expect(names, &process, &frame, "new", 1);
	assert_int_equal(counts_of(names).bytes, bytes);
}

static void a_record_that_is_none_is_passed_over(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(0, 0);
	struct code_definition definition = definition_of(0x1000, "f", 1);

	(void)state;
	code_names_define(names, &definition, 0);
	code_names_define(names, &definition, code_definition_bytes(&definition) - 1);
	definition.kind = 9;
	code_names_define(names, &definition, sizeof(definition));
	assert_int_equal(counts_of(names).definitions, 0);
	definition.kind = CODE_DEFINITION_CODE;
	code_names_define(names, &definition, code_definition_bytes(&definition));
	assert_int_equal(counts_of(names).definitions, 1);
}

static struct code_definition type_of(uint64_t object, const char *name)
{
	struct code_definition definition = definition_of(object, name, 0);

	definition.kind = CODE_DEFINITION_TYPE;
	definition.version = 0x0309;
	definition.name_string.kind = CODE_STRING_UTF8;
	definition.table_length = 0;
	return definition;
}

static void a_method_has_the_class_of_its_frame(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(0, 0);
	const struct code_process process = process_of(NULL, NULL);
	struct code_definition definition = definition_of(0x1000, "run", 1);
	struct python_frame frame = { .code = 0x1000, .first_line = 1 };

	(void)state;
	definition.version = 0x0309;
	define(names, &definition);
	definition = type_of(0x2000, "Worker");
	define(names, &definition);
	definition = type_of(0x3000, "package._native.Engine");
	define(names, &definition);
	expect(names, &process, &frame, "run", 1);
	frame.type = 0x2000;
	expect(names, &process, &frame, "Worker.run", 1);
	expect(names, &process, &frame, "Worker.run", 1);
	frame.type = 0x3000;
	expect(names, &process, &frame, "Engine.run", 1);
	frame.type = 0x4000;
	expect(names, &process, &frame, "run", 1);
	definition = type_of(0x2000, "Other");
	define(names, &definition);
	frame.type = 0x2000;
	expect(names, &process, &frame, "Other.run", 1);
}

/* What was at an address before, and what comes there later, keep their own names. */
static void code_at_one_address_is_told_by_its_tag(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(0, 0);
	const struct code_process process = process_of(NULL, NULL);
	struct code_definition first = definition_of(0x1000, "first", 10);
	struct code_definition second = definition_of(0x1000, "second", 10);
	struct python_frame frame = { .code = 0x1000, .first_line = 10, .position = 2 };

	(void)state;
	first.tag = 1;
	second.tag = 2;
	define(names, &first);
	define(names, &second);
	frame.tag = 1;
	expect(names, &process, &frame, "first", 11);
	frame.tag = 2;
	expect(names, &process, &frame, "second", 11);
	frame.tag = 3;
	expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);
}

/* What is read of a process is the frame's own, or nothing: to 3.11 by its name's hash. */
static void what_is_read_has_the_tag_of_its_frame(void **state)
{
	static const uint32_t versions[] = { 0x030b, 0x030c };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		CLEANUP(code_names_freep) struct code_names *names = names_new(0, 0);
		CLEANUP(mem_freep) struct python_image *image = mem_zalloc(1, sizeof(*image));
		const struct python_memory memory = python_image_memory(image);
		struct python_frame frame = { .first_line = 10, .position = 2 };
		const struct python_offsets *offsets = &image->python.offsets;
		struct code_process process;
		uint64_t name;
		uint64_t serial;

		python_image_init(image, versions[i]);
		process = process_of(image, &memory);
		frame.code = python_image_code(image, STR("f"), STR("b.py"), 10, STR(TWO_LINES));
		name = python_memory_u64(&memory, frame.code + offsets->code_name);
		serial = versions[i] < 0x030c ? name + offsets->string_hash
		                              : frame.code + offsets->code_serial;
		python_image_put32(image, serial, 77);
		frame.tag = python_code_tag(python_code_content(
			name, python_memory_u64(&memory, frame.code + offsets->code_lines), 77));
		frame.tag++;
		expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);
		frame.tag--;
		expect(names, &process, &frame, "f", 11);
	}
}

static void what_was_not_sent_is_read(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(0, 0);
	CLEANUP(mem_freep) struct python_image *image = mem_zalloc(1, sizeof(*image));
	const struct python_memory memory = python_image_memory(image);
	struct code_process process;
	struct python_frame frame = { .first_line = 10, .position = 2 };

	(void)state;
	python_image_init(image, 0x030c);
	process = process_of(image, &memory);
	frame.code =
		python_image_code(image, STR("gen.<locals>.f"), STR("b.py"), 10, STR(TWO_LINES));
	expect(names, &process, &frame, "gen.<locals>.f", 11);
	assert_int_equal(counts_of(names).read, 1);

	/* Another code object has its place by now. */
	frame.first_line = 11;
	expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);

	/* Something else has its place. */
	frame.code = python_image_type(image, "list");
	frame.first_line = 0;
	expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);

	frame.code = python_image_code(image, STR("late"), STR("b.py"), 1, STR(TWO_LINES));
	frame.first_line = 1;
	image->is_gone = true;
	expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);
	assert_int_equal(counts_of(names).unknown, 3);
}

static void what_is_unknown_is_asked_for_once(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(0, 0);
	CLEANUP(mem_freep) struct python_image *image = mem_zalloc(1, sizeof(*image));
	const struct python_memory memory = python_image_memory(image);
	const struct python_frame frame = { .code = 0x10, .first_line = 1, .type = 0x20 };
	struct code_process process;
	size_t reads;

	(void)state;
	python_image_init(image, 0x0308);
	process = process_of(image, &memory);
	expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);
	reads = image->reads;
	assert_true(reads > 0);
	for (int i = 0; i < 100; i++)
		expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);
	assert_int_equal(image->reads, reads);
}

static void the_rest_of_a_cut_table_is_read(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(0, 0);
	CLEANUP(mem_freep) struct python_image *image = mem_zalloc(1, sizeof(*image));
	const struct python_memory memory = python_image_memory(image);
	struct code_definition definition = definition_of(0, "long", 1);
	struct python_frame frame = { .first_line = 1 };
	char table[3 * CODE_TABLE_BYTES];
	struct code_process process;

	(void)state;
	/* Each entry is three bytes, one unit and one line. */
	for (size_t i = 0; i < sizeof(table); i++)
		table[i] = "\xd8\x01\x02"[i % 3];
	python_image_init(image, 0x030c);
	process = process_of(image, &memory);
	frame.code = python_image_code(image, STR("long"), STR("a.py"), 1,
	                               str_make(table, sizeof(table)));
	definition.object = frame.code;
	definition.table_length = sizeof(table);
	memcpy(definition.table, table, sizeof(definition.table));
	define(names, &definition);

	frame.position = 1000;
	expect(names, &process, &frame, "long", 1002);
	assert_int_equal(image->reads, 0);
	image->is_gone = true;
	process.memory = NULL;
	frame.position = 2000;
	expect(names, &process, &frame, "long", 0);
	image->is_gone = false;
	process.memory = &memory;
	expect(names, &process, &frame, "long", 2002);
	frame.position = 4095;
	expect(names, &process, &frame, "long", 4097);
	frame.position = 4096;
	expect(names, &process, &frame, "long", 0);
}

static void an_exit_forgets_its_process_alone(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(0, 0);
	struct code_process process = process_of(NULL, NULL);
	const struct python_frame frame = { .code = 0x1000, .first_line = 1 };
	struct code_definition definition = definition_of(0x1000, "f", 1);

	(void)state;
	define(names, &definition);
	definition.tgid = TGID + 1024; /* of the same bucket */
	define(names, &definition);
	code_names_exit(names, TGID, START_NS);
	code_names_exit(names, TGID, START_NS);
	assert_int_equal(counts_of(names).processes, 1);
	expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);
	process.tgid = TGID + 1024;
	expect(names, &process, &frame, "f", 1);
	code_names_exit(names, TGID, START_NS);
	code_names_exit(names, TGID + 1024, START_NS);
	assert_int_equal(counts_of(names).processes, 0);
	assert_int_equal(counts_of(names).bytes, 0);
}

static void a_process_over_its_limit_begins_anew(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(1 << 20, 1 << 16);
	struct code_definition definition = definition_of(0x1000, "kept", 1);
	const struct code_process process = { .tgid = 1, .start_ns = START_NS };
	const struct python_frame frame = { .code = 0x1000, .first_line = 1 };
	size_t most = 0;

	(void)state;
	definition.tgid = 1;
	define(names, &definition);
	for (uint64_t i = 0; i < 100000; i++) {
		definition = definition_of(0x10000 + i, "f", 1);
		define(names, &definition);
		if (counts_of(names).bytes > most)
			most = counts_of(names).bytes;
	}
	assert_true(most < (1 << 16) + (1 << 15));
	assert_true(counts_of(names).dropped > 90000);
	expect(names, &process, &frame, "kept", 1);
}

static void over_the_limit_of_all_the_least_recent_goes(void **state)
{
	CLEANUP(code_names_freep) struct code_names *names = names_new(1 << 16, 1 << 16);
	const struct python_frame frame = { .code = 0x1000, .first_line = 1 };
	struct code_process process = process_of(NULL, NULL);
	struct code_name found;

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		struct code_definition definition = definition_of(0x1000, "f", 1);

		definition.tgid = i;
		define(names, &definition);
		/* The first is in use all the time. */
		process.tgid = 0;
		code_names_begin(names, 0, START_NS);
		code_names_find(names, &process, &frame, &found);
		assert_true(str_equals(found.name, "f"));
		assert_true(counts_of(names).bytes <= 1 << 16);
	}
	assert_true(counts_of(names).processes > 10);
	process.tgid = 1;
	expect(names, &process, &frame, PYTHON_UNKNOWN_NAME, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_definition_names_a_frame),
		cmocka_unit_test(a_code_object_is_its_place_its_line_and_its_process),
		cmocka_unit_test(a_newer_definition_goes_before_an_older_one),
		cmocka_unit_test(a_record_that_is_none_is_passed_over),
		cmocka_unit_test(a_method_has_the_class_of_its_frame),
		cmocka_unit_test(code_at_one_address_is_told_by_its_tag),
		cmocka_unit_test(what_is_read_has_the_tag_of_its_frame),
		cmocka_unit_test(what_was_not_sent_is_read),
		cmocka_unit_test(what_is_unknown_is_asked_for_once),
		cmocka_unit_test(the_rest_of_a_cut_table_is_read),
		cmocka_unit_test(an_exit_forgets_its_process_alone),
		cmocka_unit_test(a_process_over_its_limit_begins_anew),
		cmocka_unit_test(over_the_limit_of_all_the_least_recent_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
