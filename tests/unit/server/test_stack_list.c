#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/command/stack_list.h"

#define LIMIT ((size_t)1 << 20)

/* Strings 1 to 7: names; 8, 9: files of mappings; 10: a source file. */
static struct str strings[] = {
	{ "", 0 },
	{ "main", 4 },
	{ "step", 4 },
	{ "alloc", 5 },
	{ "inlined", 7 },
	{ "_PyEval_EvalFrameDefault", 24 },
	{ "cuMem", 5 },
	{ "_PyFunction_Vectorcall", 22 },
	{ "/usr/bin/python3.11", 19 },
	{ "/lib/libfoo.so", 14 },
	{ "/app/main.py", 12 },
};

static struct profile_function functions[] = {
	{ 1, 1, 10, 0 }, { 2, 2, 10, 0 }, { 3, 3, 0, 0 }, { 4, 4, 0, 0 },
	{ 5, 5, 0, 0 },  { 6, 6, 0, 0 },  { 7, 7, 0, 0 },
};

static struct profile_line lines[] = { { 0, 1 }, { 1, 2 }, { 3, 3 }, { 2, 4 },
	                               { 4, 5 }, { 5, 6 }, { 6, 7 } };

static struct profile_mapping mappings[] = { { .file = 8 }, { .file = 9 } };

/* 0 main, 1 step, 2 alloc with an inlined call, 3 and 5 the interpreter, 4 cuMem, 6 bare */
static struct profile_location locations[] = {
	{ 0, PROFILE_NONE, 0, 1 },
	{ 0, PROFILE_NONE, 1, 1 },
	{ 0, 1, 2, 2 },
	{ 0, 0, 4, 1 },
	{ 0, 1, 5, 1 },
	{ 0, 0, 6, 1 },
	{ 0x1f, 1, 0, 0 },
};

static void one_line_a_stack_root_first(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	uint32_t stacks[] = { 4, 2, 3, 1, 0, /**/ 4, 1, 3, 0, /**/ 4, 1, 5, 0, /**/ 6, 0, /**/ 0 };
	struct profile_sample samples[] = { { 0, 5, 0, 0 },  { 5, 4, 0, 0 },  { 9, 4, 0, 0 },
		                            { 13, 2, 0, 0 }, { 15, 1, 0, 0 }, { 15, 1, 0, 0 } };
	int64_t values[] = { 1, 10, 0, 20, 0, 30, 0, 10, 9, 0, 9, -5 };
	struct profile_value_type types[2] = { { 0, 0 } };
	const struct profile profile = {
		.strings = strings,
		.functions = functions,
		.lines = lines,
		.mappings = mappings,
		.locations = locations,
		.stacks = stacks,
		.samples = samples,
		.sample_count = ARRAY_LENGTH(samples),
		.values = values,
		.sample_types = types,
		.sample_type_count = 2,
	};
	struct stack_list list;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(stack_list_make(&profile, 1, arena, &list, &err), 0);
	assert_int_equal(list.count, 3);
	assert_int_equal(list.total, 70);
	/* without the interpreter's frames two stacks are one; equal ones come by name */
	assert_true(str_equals(list.rows[0].text, "main > step > cuMem"));
	assert_int_equal(list.rows[0].value, 50);
	assert_true(str_equals(list.rows[1].text, "main > libfoo.so!0x1f"));
	assert_true(str_equals(list.rows[2].text, "main > step > alloc > inlined > cuMem"));
	assert_int_equal(list.rows[2].value, 10);
	/* a sample type that is not there has no stacks */
	assert_int_equal(stack_list_make(&profile, 2, arena, &list, &err), 0);
	assert_int_equal(list.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_line_a_stack_root_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
