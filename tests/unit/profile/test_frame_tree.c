#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/profile/frame_fixture.h"

#define ARENA_BYTES ((size_t)64 << 20)

static int64_t total_of(const struct frame_tree *tree, const char *path)
{
	const uint32_t node = frame_fixture_find(tree, path);

	return node == FRAME_NONE ? -1 : tree->nodes[node].sides[FRAME_LEFT].total;
}

static void sums_become_totals_and_children_stand_in_order(void **state)
{
	static const struct frame_path paths[] = {
		{ "main;work;io", 10, 1 },
		{ "main;idle", 5, 0 },
		{ "main;work;compute", 30, 2 },
		{ "main", 0, -4 }, /* below 1: left out */
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	uint32_t main_node;
	size_t depth = 0;

	(void)state;
	frame_fixture_of(&f, arena, paths, ARRAY_LENGTH(paths));
	main_node = frame_fixture_find(f.tree, "main");
	assert_int_equal(f.tree->nodes[0].sides[FRAME_LEFT].total, 45);
	assert_int_equal(f.tree->nodes[0].sides[FRAME_RIGHT].total, 3);
	assert_int_equal(total_of(f.tree, "main;work"), 40);
	assert_int_equal(f.tree->nodes[main_node].first_child,
	                 frame_fixture_find(f.tree, "main;idle"));
	/* the walk: children behind their parents, in the order of their names */
	static const char *const order[] = { "main", "main;idle", "main;work", "main;work;compute",
		                             "main;work;io" };
	uint32_t node = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(order); i++) {
		node = frame_tree_next(f.tree, 0, node, false, &depth);
		assert_int_equal(node, frame_fixture_find(f.tree, order[i]));
	}
	assert_int_equal(depth, 3);
	assert_int_equal(frame_tree_next(f.tree, 0, node, false, &depth), FRAME_NONE);
	frame_fixture_free(&f);
}

static void a_walk_that_is_pruned_passes_by_what_is_below(void **state)
{
	static const struct frame_path paths[] = { { "a;b;c", 1, 0 }, { "d", 1, 0 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	size_t depth = 1;

	(void)state;
	frame_fixture_of(&f, arena, paths, ARRAY_LENGTH(paths));
	assert_int_equal(frame_tree_next(f.tree, 0, frame_fixture_find(f.tree, "a"), true, &depth),
	                 frame_fixture_find(f.tree, "d"));
	assert_int_equal(depth, 1);
	/* a walk below a node ends with it, whatever stands beside it */
	depth = 1;
	assert_int_equal(frame_tree_next(f.tree, frame_fixture_find(f.tree, "a"),
	                                 frame_fixture_find(f.tree, "a;b;c"), false, &depth),
	                 FRAME_NONE);
	frame_fixture_free(&f);
}

/* Two calls of load(), from its lines 3 and 8, the second one inlined into main(). */
static void add_lines(struct frame_fixture *f, struct arena *arena, enum frame_detail detail)
{
	uint32_t load;
	uint32_t main_function;
	uint32_t at_3;
	uint32_t at_8;

	frame_fixture_begin(f, arena, detail);
	load = fixture_function(f->symbols, STR("load"), "w.py");
	main_function = fixture_function(f->symbols, STR("main"), "");
	at_3 = fixture_location(f->symbols, PROFILE_NONE, 0,
	                        &(struct symbol_line){ .line = 3, .function = load }, 1);
	at_8 = fixture_location(
		f->symbols, fixture_mapping(f->symbols, 0, 9, "/usr/bin/app", ""), 7,
		(const struct symbol_line[]){ { .line = 8, .function = load },
	                                      { .line = 20, .function = main_function } },
		2);
	frame_fixture_add(f, fixture_stack(f->symbols, 0, at_3), 10, FRAME_LEFT);
	frame_fixture_add(f, fixture_stack(f->symbols, 0, at_8), 30, FRAME_LEFT);
	frame_fixture_finish(f);
}

static void inlined_calls_are_frames_and_files_are_their_mappings(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct graph_frame *frame;
	struct frame_fixture f;

	(void)state;
	add_lines(&f, arena, FRAME_BY_FUNCTION);
	assert_int_equal(total_of(f.tree, "load"), 10);
	assert_int_equal(total_of(f.tree, "main;load"), 30);
	frame = &f.frames->frames[f.tree->nodes[frame_fixture_find(f.tree, "main")].frame];
	assert_true(str_equals(frame->file, "/usr/bin/app"));
	assert_int_equal(frame->line, 20);
	frame = &f.frames->frames[f.tree->nodes[frame_fixture_find(f.tree, "load")].frame];
	assert_true(str_equals(frame->file, "w.py"));
	assert_int_equal(frame->line, 8); /* 30 of 40 went through there */
	assert_int_equal(f.frames->count, 3);
	frame_fixture_free(&f);
}

static void by_line_two_lines_of_a_function_are_two_frames(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;

	(void)state;
	add_lines(&f, arena, FRAME_BY_LINE);
	assert_int_equal(f.frames->count, 4);
	assert_int_equal(
		f.frames->frames[f.tree->nodes[frame_fixture_find(f.tree, "load")].frame].line, 3);
	frame_fixture_free(&f);
}

static void bare_locations_have_addresses_and_the_kind_of_their_mapping(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct graph_frame *frame;
	struct frame_fixture f;
	uint32_t mapping;

	(void)state;
	frame_fixture_begin(&f, arena, FRAME_BY_FUNCTION);
	mapping = fixture_mapping(f.symbols, 0, 4096, "/usr/lib/libcuda.so.1", "");
	frame_fixture_add(&f,
	                  fixture_stack(f.symbols, 0,
	                                fixture_location(f.symbols, mapping, 0x1f0, NULL, 0)),
	                  1, FRAME_LEFT);
	frame_fixture_finish(&f);
	frame = &f.frames->frames[1];
	assert_true(str_equals(frame->name, "libcuda.so.1!0x1f0"));
	assert_true(str_equals(frame->file, "/usr/lib/libcuda.so.1"));
	assert_int_equal(frame->kind, FUNCTION_CUDA);
	frame_fixture_free(&f);
}

/* 5 / 2 = 2.5 is 3, and 1 / 3 = 0.33 leaves no node. */
static void a_tree_is_added_divided_and_rounded_once_a_node(void **state)
{
	static const struct frame_path paths[] = { { "a;b", 5, 0 }, { "a;c", 1, 0 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_tree *sum = NULL;
	struct frame_fixture f;
	struct error err;

	(void)state;
	frame_fixture_of(&f, arena, paths, ARRAY_LENGTH(paths));
	assert_int_equal(frame_tree_new(f.frames, &sum, &err), 0);
	assert_int_equal(frame_tree_add_tree(sum, f.tree, FRAME_LEFT, 2, &err), 0);
	assert_int_equal(frame_tree_finish(sum, f.ranks, &err), 0);
	assert_int_equal(total_of(sum, "a;b"), 3);
	assert_int_equal(total_of(sum, "a;c"), 1); /* 0.5 */
	assert_int_equal(total_of(sum, "a"), 4);
	assert_int_equal(frame_tree_new(f.frames, &sum, &err), 0);
	assert_int_equal(frame_tree_add_tree(sum, f.tree, FRAME_LEFT, 3, &err), 0);
	assert_int_equal(frame_tree_finish(sum, f.ranks, &err), 0);
	assert_int_equal(total_of(sum, "a;b"), 2);
	assert_int_equal(frame_fixture_find(sum, "a;c"), FRAME_NONE);
	frame_fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_become_totals_and_children_stand_in_order),
		cmocka_unit_test(a_walk_that_is_pruned_passes_by_what_is_below),
		cmocka_unit_test(inlined_calls_are_frames_and_files_are_their_mappings),
		cmocka_unit_test(by_line_two_lines_of_a_function_are_two_frames),
		cmocka_unit_test(bare_locations_have_addresses_and_the_kind_of_their_mapping),
		cmocka_unit_test(a_tree_is_added_divided_and_rounded_once_a_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
