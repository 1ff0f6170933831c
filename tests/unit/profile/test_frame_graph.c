#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/frame_graph.h"
#include "tests/unit/profile/frame_fixture.h"

#define ARENA_BYTES ((size_t)256 << 20)
#define FOLDED      99
#define DEEP        20000

static const struct frame_path paths[] = {
	{ "main;work;compute", 30, 3 },
	{ "main;idle", 5, 0 },
	{ "main;work;io", 10, 40 },
};

/* Names in the order of the table: compute 1, io 2, idle 3, main 4, work 5. */
static const uint32_t *one_side(struct frame_fixture *f, struct arena *arena)
{
	struct frame_path left[ARRAY_LENGTH(paths)];

	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++)
		left[i] = (struct frame_path){ paths[i].path, paths[i].left, 0 };
	frame_fixture_of(f, arena, left, ARRAY_LENGTH(left));
	return f->table.numbers;
}

static struct frame_graph draw(const struct frame_fixture *f, size_t side_count, size_t max_nodes)
{
	const struct frame_graph_options options = {
		.side_count = side_count,
		.max_nodes = max_nodes,
		.numbers = f->table.numbers,
		.folded_number = FOLDED,
	};
	struct frame_graph graph = { 0 };
	struct error err;

	assert_int_equal(frame_graph_make(f->tree, 0, &options, &graph, &err), 0);
	return graph;
}

static void assert_level(const struct frame_graph *graph, size_t level, const int64_t *values,
                         size_t count)
{
	assert_true(level < graph->level_count);
	assert_int_equal(graph->levels[level].count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(graph->levels[level].values[i], values[i]);
}

#define ASSERT_LEVEL(graph, level, ...)                                  \
	assert_level((graph), (level), (const int64_t[]){ __VA_ARGS__ }, \
	             sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

static void whole_graph_is_drawn_left_to_right(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	struct frame_graph graph;

	(void)state;
	one_side(&f, arena);
	graph = draw(&f, 1, 0);
	assert_int_equal(graph.level_count, 4);
	ASSERT_LEVEL(&graph, 0, 0, 45, 0, 0);
	ASSERT_LEVEL(&graph, 1, 0, 45, 0, 4);
	ASSERT_LEVEL(&graph, 2, 0, 5, 5, 3, 0, 40, 0, 5);
	ASSERT_LEVEL(&graph, 3, 5, 30, 30, 1, 0, 10, 10, 2);
	assert_int_equal(graph.folded_nodes, 0);
	frame_fixture_free(&f);
}

/* The largest: main 45, work 40, compute 30, io 10, idle 5. */
static void what_is_folded_stands_behind_its_siblings(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	struct frame_graph graph;

	(void)state;
	one_side(&f, arena);
	graph = draw(&f, 1, 3);
	ASSERT_LEVEL(&graph, 2, 0, 40, 0, 5, 0, 5, 5, FOLDED);
	ASSERT_LEVEL(&graph, 3, 0, 30, 30, 1, 0, 10, 10, FOLDED);
	assert_int_equal(graph.folded_nodes, 2);
	graph = draw(&f, 1, 1);
	assert_int_equal(graph.level_count, 3);
	ASSERT_LEVEL(&graph, 2, 0, 45, 45, FOLDED);
	assert_int_equal(graph.folded_nodes, 4);
	frame_fixture_free(&f);
}

/* What is of one size with the last that has room is drawn in the order of names. */
static void a_graph_never_has_more_nodes_than_asked_for(void **state)
{
	static const struct frame_path equal[] = {
		{ "m;a", 1, 0 }, { "m;b", 1, 0 }, { "m;c", 1, 0 }, { "m;d", 1, 0 }, { "z", 9, 0 },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	struct frame_graph graph;

	(void)state;
	frame_fixture_of(&f, arena, equal, ARRAY_LENGTH(equal));
	graph = draw(&f, 1, 4); /* z 9, m 4, and two of those of 1 */
	ASSERT_LEVEL(&graph, 1, 0, 4, 0, 6, 0, 9, 9, 1);
	ASSERT_LEVEL(&graph, 2, 0, 1, 1, 2, 0, 1, 1, 3, 0, 2, 2, FOLDED);
	assert_int_equal(graph.folded_nodes, 2);
	frame_fixture_free(&f);
}

static void a_comparison_has_seven_numbers_a_node(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	struct frame_graph graph;

	(void)state;
	/* self: io 30 more, compute 27 less, idle 5 less; total: work 3 more, main 2 less */
	frame_fixture_of(&f, arena, paths, ARRAY_LENGTH(paths));
	graph = draw(&f, 2, 0);
	ASSERT_LEVEL(&graph, 0, 0, 45, 0, 0, 43, 0, 0);
	ASSERT_LEVEL(&graph, 1, 0, 45, 0, 0, 43, 0, 5);
	ASSERT_LEVEL(&graph, 2, 0, 5, 5, 0, 0, 0, 3, 0, 40, 0, 0, 43, 0, 4);
	ASSERT_LEVEL(&graph, 3, 5, 30, 30, 0, 3, 3, 2, 0, 10, 10, 0, 40, 40, 1);
	/* io is the larger one: 40 on the right; idle is behind work now */
	graph = draw(&f, 2, 3);
	ASSERT_LEVEL(&graph, 3, 0, 10, 10, 0, 40, 40, 1, 0, 30, 30, 0, 3, 3, FOLDED);
	frame_fixture_free(&f);
}

static void a_stack_of_twenty_thousand_frames_is_drawn(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	struct frame_graph graph;
	uint32_t frame;
	uint32_t node = 0;

	(void)state;
	frame_fixture_begin(&f, arena, FRAME_BY_FUNCTION);
	frame = frame_set_add(f.frames, &(struct graph_frame){ .name = STR("f"), .file = STR("") });
	for (int i = 0; i < DEEP; i++)
		node = frame_tree_child(f.tree, node, frame);
	f.tree->nodes[node].sides[FRAME_LEFT].self = 7;
	frame_fixture_finish(&f);
	assert_int_equal(f.table.rows[0].sides[FRAME_LEFT].total, 7);
	graph = draw(&f, 1, 0);
	assert_int_equal(graph.level_count, DEEP + 1);
	ASSERT_LEVEL(&graph, DEEP, 0, 7, 7, 1);
	graph = draw(&f, 1, 100);
	assert_int_equal(graph.level_count, 102);
	assert_int_equal(graph.folded_nodes, DEEP - 100);
	frame_fixture_free(&f);
}

static void nothing_is_a_root_alone(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	struct frame_graph graph;

	(void)state;
	frame_fixture_of(&f, arena, NULL, 0);
	graph = draw(&f, 1, 10);
	assert_int_equal(graph.level_count, 1);
	ASSERT_LEVEL(&graph, 0, 0, 0, 0, 0);
	frame_fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_graph_is_drawn_left_to_right),
		cmocka_unit_test(what_is_folded_stands_behind_its_siblings),
		cmocka_unit_test(a_graph_never_has_more_nodes_than_asked_for),
		cmocka_unit_test(a_comparison_has_seven_numbers_a_node),
		cmocka_unit_test(a_stack_of_twenty_thousand_frames_is_drawn),
		cmocka_unit_test(nothing_is_a_root_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
