#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/jfr_stacks.h"
#include "jfr_decoded.h"
#include "tests/unit/growth.h"

#define ARENA_BYTES ((size_t)64 << 20)

struct fixture {
	struct arena *arena;
	struct strbuf recording;
	struct jfr_writer writer;
	struct jfr_chunk chunk;
	struct jfr_metadata metadata;
	struct jfr_layouts layouts;
	struct jfr_pools pools;
	struct jfr_stacks stacks;
};

static int set_up(void **state)
{
	struct fixture *fixture = test_calloc(1, sizeof(*fixture));

	fixture->arena = arena_new(ARENA_BYTES, NULL);
	strbuf_init(&fixture->recording, JFR_WRITER_LIMIT);
	jfr_writer_init(&fixture->writer, JFR_WRITER_TYPES);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	jfr_writer_fini(&fixture->writer);
	strbuf_fini(&fixture->recording);
	arena_free(fixture->arena);
	test_free(fixture);
	return 0;
}

/* Closes the chunk and turns to it. */
static void begin(struct fixture *fixture, size_t name_bytes)
{
	struct str rest;
	struct error err = { 0 };

	jfr_writer_chunk(&fixture->writer, &fixture->recording);
	rest = strbuf_view(&fixture->recording);
	assert_int_equal(jfr_chunk_next(&rest, &fixture->chunk, &err), 1);
	assert_int_equal(
		jfr_metadata_read(&fixture->chunk, fixture->arena, &fixture->metadata, &err), 0);
	assert_int_equal(jfr_layouts_init(&fixture->layouts, &fixture->metadata, &fixture->chunk,
	                                  fixture->arena, &err),
	                 0);
	assert_int_equal(jfr_pools_read(&fixture->chunk, &fixture->layouts, fixture->arena,
	                                &fixture->pools, &err),
	                 0);
	assert_int_equal(jfr_stacks_init(&fixture->stacks, name_bytes, fixture->arena, &err), 0);
	assert_int_equal(jfr_stacks_begin(&fixture->stacks, &fixture->pools, &err), 0);
}

static uint32_t find(struct fixture *fixture, uint64_t key)
{
	struct error err = { 0 };
	uint32_t stack;

	assert_int_equal(jfr_stacks_find(&fixture->stacks, key, &stack, &err), 0);
	return stack;
}

static void equal_names_frames_and_stacks_are_one(void **state)
{
	/* methods 1 and 2 become one, so do 3 and 4 */
	static const char *const names[][2] = {
		{ "A$$Lambda$1/0x01", "run" },
		{ "A$$Lambda$2/0x02", "run" },
		{ "A", "main" },
		{ "A", "main" },
	};
	struct fixture *fixture = *state;
	struct jfr_writer *writer = &fixture->writer;

	jfr_writer_methods(writer, names, 4);
	jfr_writer_pool(writer, 27, 3);
	for (uint64_t key = 1; key <= 3; key++) {
		jfr_writer_long(writer, &writer->pools, key);
		strbuf_add_byte(&writer->pools, 0);
		jfr_writer_int(writer, &writer->pools, 2);
		for (uint64_t i = 0; i < 2; i++) {
			/* the last has another line below */
			jfr_writer_long(writer, &writer->pools, 2 * i + 1 + key % 2);
			jfr_writer_int(writer, &writer->pools, key == 3 && i == 1 ? -1 : 7);
			jfr_writer_int(writer, &writer->pools, 0);
			jfr_writer_long(writer, &writer->pools, 1);
		}
	}
	begin(fixture, 1000);
	assert_int_equal(find(fixture, 1), 0);
	assert_int_equal(find(fixture, 2), 0);
	assert_int_equal(find(fixture, 3), 1);
	assert_int_equal(find(fixture, 1), 0);
	assert_int_equal(find(fixture, 4), JFR_STACK_NONE);
	assert_int_equal(fixture->stacks.name_ids.count, 2);
	assert_true(str_equals(fixture->stacks.names[0], "A$$Lambda_.run"));
	assert_true(str_equals(fixture->stacks.names[1], "A.main"));
	assert_int_equal(fixture->stacks.frame_count, 3);
	assert_int_equal(fixture->stacks.frames[2].line, -1);
	assert_int_equal(fixture->stacks.run_length, 4);
}

/* One class with a name of 1,000 bytes, in 100 methods: 100 kB of names. */
static void names_are_bounded_by_what_the_caller_says(void **state)
{
	struct fixture *fixture = *state;
	struct jfr_writer *writer = &fixture->writer;
	uint64_t methods[100];
	char name[1000];
	struct error err = { 0 };
	uint32_t stack;

	memset(name, 'x', sizeof(name));
	jfr_writer_pool(writer, 20, 101);
	jfr_writer_long(writer, &writer->pools, 0);
	jfr_writer_str(writer, &writer->pools, str_make(name, sizeof(name)));
	for (uint64_t i = 1; i <= 100; i++) {
		const char digits[2] = { (char)('0' + i / 10), (char)('0' + i % 10) };

		methods[i - 1] = i;
		jfr_writer_long(writer, &writer->pools, i);
		jfr_writer_str(writer, &writer->pools, str_make(digits, 2));
	}
	jfr_writer_pool(writer, 21, 1);
	for (int part = 0; part < 5; part++)
		jfr_writer_long(writer, &writer->pools, 0);
	jfr_writer_pool(writer, 24, 100);
	for (uint64_t i = 1; i <= 100; i++)
		for (int part = 0; part < 6; part++)
			jfr_writer_long(writer, &writer->pools, part == 0 || part == 2 ? i : 0);
	jfr_writer_pool(writer, 27, 1);
	jfr_writer_trace(writer, 1, methods, 100);
	begin(fixture, 100 * 1003 - 1);
	assert_int_equal(jfr_stacks_find(&fixture->stacks, 1, &stack, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_int_equal(jfr_stacks_init(&fixture->stacks, 100 * 1003, fixture->arena, &err), 0);
	assert_int_equal(jfr_stacks_begin(&fixture->stacks, &fixture->pools, &err), 0);
	assert_int_equal(find(fixture, 1), 0);
}

/* `count` methods of one class and one name, and a trace of each of them. */
static void write_equal_methods(struct jfr_writer *writer, struct str class, size_t count)
{
	jfr_writer_pool(writer, 20, 2);
	jfr_writer_long(writer, &writer->pools, 1);
	jfr_writer_str(writer, &writer->pools, class);
	jfr_writer_long(writer, &writer->pools, 2);
	jfr_writer_str(writer, &writer->pools, STR("run"));
	jfr_writer_pool(writer, 21, 1);
	for (int part = 0; part < 5; part++)
		jfr_writer_long(writer, &writer->pools, part == 0 || part == 2);
	jfr_writer_pool(writer, 24, count);
	for (uint64_t i = 1; i <= count; i++)
		for (int part = 0; part < 6; part++)
			jfr_writer_long(writer, &writer->pools,
			                part == 0   ? i
			                : part == 1 ? 1
			                : part == 2 ? 2
			                            : 0);
	jfr_writer_pool(writer, 27, count);
	for (uint64_t i = 1; i <= count; i++)
		jfr_writer_trace(writer, i, &i, 1);
}

/* A hundred times "<1,000 bytes>.run", for a caller who allows eight times twelve. */
static void names_that_are_known_are_bounded_too(void **state)
{
	struct fixture *fixture = *state;
	char name[1000];
	struct error err = { 0 };
	uint32_t stack;

	memset(name, 'x', sizeof(name));
	write_equal_methods(&fixture->writer, str_make(name, sizeof(name)), 100);
	begin(fixture, (size_t)12 * 1004);
	for (uint64_t key = 1; key <= 96; key++) /* at lines of their own */
		assert_int_equal(find(fixture, key), key - 1);
	assert_int_equal(jfr_stacks_find(&fixture->stacks, 97, &stack, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_int_equal(fixture->stacks.name_ids.count, 1);
}

/* A class name that is cut short is long to read: "A$$Lambda$1111...". */
static void name_methods_of_a_class(size_t size)
{
	CLEANUP(strbuf_fini) struct strbuf name;
	void *fixture;

	strbuf_init(&name, size + 16);
	strbuf_add_text(&name, "A$$Lambda");
	while (name.length < size)
		strbuf_add_byte(&name, '1');
	assert_int_equal(set_up(&fixture), 0);
	write_equal_methods(&((struct fixture *)fixture)->writer, strbuf_view(&name), size / 16);
	begin(fixture, size);
	for (uint64_t key = 1; key <= size / 16; key++)
		assert_int_equal(find(fixture, key), key - 1);
	assert_true(str_equals(((struct fixture *)fixture)->stacks.names[0], "A$$Lambda_.run"));
	assert_int_equal(tear_down(&fixture), 0);
}

static void names_are_read_once(void **state)
{
	(void)state;
	growth_is_linear(name_methods_of_a_class, 32 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_names_frames_and_stacks_are_one, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(names_are_bounded_by_what_the_caller_says, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(names_that_are_known_are_bounded_too, set_up,
		                                tear_down),
		cmocka_unit_test(names_are_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
