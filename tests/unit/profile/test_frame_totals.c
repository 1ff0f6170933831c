#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/profile/frame_fixture.h"

#define ARENA_BYTES ((size_t)64 << 20)

static void a_total_counts_a_stack_once_however_often_a_frame_is_on_it(void **state)
{
	static const struct frame_path paths[] = {
		{ "main;f;g;f", 4, 0 }, /* f twice */
		{ "main;f", 2, 0 },
		{ "g;f;f;f", 1, 0 },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	char text[128];

	(void)state;
	frame_fixture_of(&f, arena, paths, ARRAY_LENGTH(paths));
	assert_int_equal(f.table.count, 3);
	assert_string_equal(frame_fixture_row(&f, 0, text), "f 7/7 0/0");
	assert_string_equal(frame_fixture_row(&f, 1, text), "main 0/6 0/0");
	assert_string_equal(frame_fixture_row(&f, 2, text), "g 0/5 0/0");
	assert_int_equal(f.table.numbers[f.table.rows[2].frame], 3);
	frame_fixture_free(&f);
}

static void a_comparison_has_the_largest_change_first(void **state)
{
	static const struct frame_path paths[] = {
		{ "main;shrinks", 100, 20 }, /* 80 less */
		{ "main;grows", 0, 79 },
		{ "main;stays", 500, 500 },
		{ "main;a_stays", 500, 500 },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	char text[128];

	(void)state;
	frame_fixture_of(&f, arena, paths, ARRAY_LENGTH(paths));
	assert_string_equal(frame_fixture_row(&f, 0, text), "shrinks 100/100 20/20");
	assert_string_equal(frame_fixture_row(&f, 1, text), "grows 0/0 79/79");
	assert_string_equal(frame_fixture_row(&f, 2, text), "main 0/1100 0/1099");
	assert_string_equal(frame_fixture_row(&f, 3, text), "a_stays 500/500 500/500");
	frame_fixture_free(&f);
}

static void nothing_makes_an_empty_table(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;

	(void)state;
	frame_fixture_of(&f, arena, NULL, 0);
	assert_int_equal(f.table.count, 0);
	frame_fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_total_counts_a_stack_once_however_often_a_frame_is_on_it),
		cmocka_unit_test(a_comparison_has_the_largest_change_first),
		cmocka_unit_test(nothing_makes_an_empty_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
