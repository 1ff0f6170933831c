#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/stack_marks.h"
#include "tests/unit/profile/symbols_fixture.h"

#define ARENA_BYTES ((size_t)1 << 20)
#define NODES       300 /* more than four words of bits */

/* Node i hangs below i - 1, or below the root when i - 1 is a multiple of `run`. */
static void add_chains(struct symbols_fixture *f, uint32_t run)
{
	for (uint32_t id = 1; id < NODES; id++)
		f->stacks[id] = (struct symbol_stack){ (id - 1) % run ? id - 1 : 0, 0 };
	f->symbols.stack_count = NODES;
}

static void begin(struct stack_marks *marks, const struct symbols_fixture *f)
{
	struct error err = { 0 };

	assert_int_equal(stack_marks_begin(marks, f->symbols.stack_count, &err), 0);
}

static void a_stack_and_all_above_it_are_numbered_in_order(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct stack_marks marks = { .arena = arena };
	uint32_t expected = 0;
	uint32_t id;

	(void)state;
	add_chains(f, 100); /* 1 to 100, 101 to 200, 201 to 299 */
	begin(&marks, f);
	stack_marks_add(&marks, &f->symbols, 299);
	stack_marks_add(&marks, &f->symbols, 3);
	stack_marks_add(&marks, &f->symbols, 2);
	stack_marks_add(&marks, &f->symbols, 0);
	assert_int_equal(stack_marks_rank(&marks), 3 + 99);
	for (id = stack_marks_next(&marks, 0); id; id = stack_marks_next(&marks, id)) {
		assert_int_equal(id, expected < 3 ? 1 + expected : 201 + expected - 3);
		assert_int_equal(stack_marks_number(&marks, id), expected++);
	}
	assert_int_equal(expected, 3 + 99);
}

static void nothing_is_left_of_the_window_before(void **state)
{
	static const uint32_t counts[] = { NODES, 1, 64, 65, NODES };
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct stack_marks marks = { .arena = arena };

	(void)state;
	add_chains(f, 1);
	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
		f->symbols.stack_count = counts[i];
		begin(&marks, f);
		assert_int_equal(stack_marks_rank(&marks), 0);
		assert_int_equal(stack_marks_next(&marks, 0), 0);
		stack_marks_add(&marks, &f->symbols, counts[i] - 1);
		assert_int_equal(stack_marks_rank(&marks), counts[i] > 1);
		assert_int_equal(stack_marks_next(&marks, 0), counts[i] - 1);
		assert_int_equal(stack_marks_next(&marks, counts[i] - 1), 0);
	}
}

static void full_arena_is_an_error(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(8, NULL);
	struct stack_marks marks = { .arena = arena };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(stack_marks_begin(&marks, 1000, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_and_all_above_it_are_numbered_in_order),
		cmocka_unit_test(nothing_is_left_of_the_window_before),
		cmocka_unit_test(full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
