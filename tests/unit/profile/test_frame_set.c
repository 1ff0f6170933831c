#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/frame_set.h"

#define ARENA_BYTES ((size_t)64 << 20)

static struct frame_set *set_new(struct arena *arena, enum frame_detail detail)
{
	struct frame_set *set = NULL;
	struct error err;

	assert_int_equal(frame_set_new(arena, detail, &set, &err), 0);
	return set;
}

static uint32_t add(struct frame_set *set, const char *name, const char *file, int64_t line,
                    enum function_kind kind)
{
	return frame_set_add(set, &(struct graph_frame){ str_of(name), str_of(file), line, kind });
}

static void a_frame_is_a_name_with_its_file_and_kind(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_set *set = set_new(arena, FRAME_BY_FUNCTION);
	const uint32_t first = add(set, "load", "a.py", 3, FUNCTION_PYTHON);

	(void)state;
	assert_int_equal(first, 1); /* behind the root */
	assert_int_equal(add(set, "load", "a.py", 4, FUNCTION_PYTHON), first);
	assert_int_equal(add(set, "load", "b.py", 3, FUNCTION_PYTHON), 2);
	assert_int_equal(add(set, "load", "a.py", 3, FUNCTION_NATIVE), 3);
	assert_int_equal(add(set, "", "", 0, FUNCTION_OTHER), 4); /* not the root */
	/* the bytes of name and file do not run into each other */
	assert_int_equal(add(set, "loada", ".py", 3, FUNCTION_PYTHON), 5);
	assert_int_equal(set->count, 6);
}

static void by_line_a_line_tells_frames_apart(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_set *set = set_new(arena, FRAME_BY_LINE);

	(void)state;
	assert_int_equal(add(set, "load", "a.py", 3, FUNCTION_PYTHON), 1);
	assert_int_equal(add(set, "load", "a.py", 4, FUNCTION_PYTHON), 2);
	assert_int_equal(set->frames[2].line, 4);
}

static void the_line_is_the_one_through_which_the_most_went(void **state)
{
	static const struct {
		int64_t line;
		int64_t left;
		int64_t right;
	} weights[] = { { 7, 10, 0 }, { 5, 6, 0 }, { 5, 5, 0 }, { 9, 11, 0 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_set *set = set_new(arena, FRAME_BY_FUNCTION);
	const uint32_t frame = add(set, "load", "a.py", 0, FUNCTION_PYTHON);
	const uint32_t silent = add(set, "idle", "a.py", 0, FUNCTION_PYTHON);
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(weights); i++)
		assert_true(
			frame_set_weigh(set, frame, weights[i].line, FRAME_LEFT, weights[i].left));
	assert_true(frame_set_weigh(set, silent, 0, FRAME_LEFT, 100));
	assert_int_equal(frame_set_choose_lines(set, &err), 0);
	assert_int_equal(set->frames[frame].line, 5); /* 11, as line 9 has: the smaller one */
	assert_int_equal(set->frames[silent].line, 0);
	/* the right side decides where it has anything */
	assert_true(frame_set_weigh(set, frame, 7, FRAME_RIGHT, 1));
	assert_int_equal(frame_set_choose_lines(set, &err), 0);
	assert_int_equal(set->frames[frame].line, 7);
}

static void ranks_are_by_the_bytes_of_names_then_files(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_set *set = set_new(arena, FRAME_BY_FUNCTION);
	uint32_t *ranks = NULL;
	struct error err;

	(void)state;
	add(set, "longer name b", "", 0, FUNCTION_OTHER); /* 1 */
	add(set, "longer name a", "", 0, FUNCTION_OTHER); /* 2: equal in eight bytes */
	add(set, "a", "z", 0, FUNCTION_OTHER);            /* 3 */
	add(set, "a", "b", 0, FUNCTION_OTHER);            /* 4 */
	add(set, "\xff", "", 0, FUNCTION_OTHER);          /* 5: bytes, not signed ones */
	assert_int_equal(frame_set_rank(set, arena, &ranks, &err), 0);
	assert_int_equal(ranks[FRAME_ROOT], 0);
	assert_int_equal(ranks[4], 1);
	assert_int_equal(ranks[3], 2);
	assert_int_equal(ranks[2], 3);
	assert_int_equal(ranks[1], 4);
	assert_int_equal(ranks[5], 5);
}

static void kinds_have_names_whatever_a_file_says(void **state)
{
	(void)state;
	assert_string_equal(frame_kind_name(FUNCTION_CUDA), "cuda");
	assert_string_equal(frame_kind_name(FUNCTION_KERNEL), "kernel");
	assert_string_equal(frame_kind_name((enum function_kind)77), "other");
}

static void a_full_arena_is_no_frame(void **state)
{
	CLEANUP(arena_freep) struct arena *small = arena_new(8192, NULL);
	struct frame_set *set = NULL;
	char name[1024];
	struct error err;

	(void)state;
	memset(name, 'x', sizeof(name));
	assert_int_equal(frame_set_new(small, FRAME_BY_FUNCTION, &set, &err), 0);
	for (int i = 0; i < 16; i++) {
		name[0] = (char)('a' + i);
		(void)frame_set_add(set,
		                    &(struct graph_frame){ .name = str_make(name, sizeof(name)) });
	}
	name[0] = 'A';
	assert_int_equal(
		frame_set_add(set, &(struct graph_frame){ .name = str_make(name, sizeof(name)) }),
		FRAME_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_a_name_with_its_file_and_kind),
		cmocka_unit_test(by_line_a_line_tells_frames_apart),
		cmocka_unit_test(the_line_is_the_one_through_which_the_most_went),
		cmocka_unit_test(ranks_are_by_the_bytes_of_names_then_files),
		cmocka_unit_test(kinds_have_names_whatever_a_file_says),
		cmocka_unit_test(a_full_arena_is_no_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
