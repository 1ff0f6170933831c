#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/flame_graph.h"
#include "tests/unit/profile/tree_fixture.h"

#define ARENA_BYTES ((size_t)64 << 20)

/* Windows A and B of the specification's worked examples, 6.1. */
static const struct tree_path window_a[] = {
	{ "main;work;compute", 30 },
	{ "main;idle", 5 },
	{ "main;work;io", 10 },
	{ "gc", 5 },
};
static const struct tree_path window_b[] = {
	{ "main;work;compute", 20 },
	{ "main;idle", 15 },
	{ "main;net", 5 },
};

/* "total,main|0 50 0 0|0 5 5 6 0 45 0 1|": names, then levels. */
static void assert_graph(const struct flame_graph *graph, const char *expected)
{
	struct strbuf text;

	strbuf_init(&text, 1 << 20);
	for (size_t i = 0; i < graph->name_count; i++) {
		strbuf_add_text(&text, i > 0 ? "," : "");
		strbuf_add_str(&text, graph->names[i]);
	}
	for (size_t i = 0; i < graph->level_count; i++)
		for (size_t j = 0; j < graph->levels[i].count; j++)
			strbuf_printf(&text, "%s%lld", j == 0 ? "|" : " ",
			              (long long)graph->levels[i].values[j]);
	assert_string_equal(text.data, expected);
	strbuf_fini(&text);
}

/* The whole way: tree, cut to max_nodes, graph. */
static struct flame_graph graph_of(struct arena *arena, const struct tree_path *paths, size_t count,
                                   int64_t max_nodes)
{
	const struct function_tree *tree = tree_of(arena, paths, count);
	struct function_tree *cut = NULL;
	struct flame_graph graph = { 0 };
	struct error err = { 0 };

	assert_int_equal(function_tree_truncate(tree, max_nodes, arena, &cut, &err), 0);
	assert_int_equal(flame_graph_make(cut, max_nodes, arena, &graph, &err), 0);
	return graph;
}

static struct flame_graph diff_of(struct arena *arena, int64_t max_nodes)
{
	const struct function_tree *left = tree_of(arena, window_a, ARRAY_LENGTH(window_a));
	const struct function_tree *right = tree_of(arena, window_b, ARRAY_LENGTH(window_b));
	struct function_tree *cuts[2] = { NULL };
	struct flame_graph graph = { 0 };
	struct error err = { 0 };

	assert_int_equal(function_tree_truncate(left, max_nodes, arena, &cuts[0], &err), 0);
	assert_int_equal(function_tree_truncate(right, max_nodes, arena, &cuts[1], &err), 0);
	assert_int_equal(flame_graph_diff(cuts[0], cuts[1], max_nodes, arena, &graph, &err), 0);
	return graph;
}

static void graphs_are_those_of_the_worked_examples(void **state)
{
	static const struct {
		int64_t max_nodes;
		const char *graph;
		int64_t max_self;
	} cases[] = {
		{ 0,
		  "total,main,work,io,compute,idle,gc|0 50 0 0|0 5 5 6 0 45 0 1|5 5 5 5 0 40 0 2"
		  "|10 30 30 4 0 10 10 3",
		  30 },
		{ 5,
		  "total,main,work,io,compute,idle,gc|0 50 0 0|0 5 5 6 0 45 0 1|5 5 5 5 0 40 0 2"
		  "|10 30 30 4 0 10 10 3",
		  30 },
		{ 4,
		  "total,other,main,work,io,compute|0 50 0 0|0 45 0 2 0 5 5 1|0 40 0 3 0 5 5 1"
		  "|0 30 30 5 0 10 10 4",
		  30 },
		{ 3,
		  "total,other,main,work,compute|0 50 0 0|0 45 0 2 0 5 5 1|0 40 0 3 0 5 5 1"
		  "|0 30 30 4 0 10 10 1",
		  30 },
		{ 2, "total,other,main,work|0 50 0 0|0 45 0 2 0 5 5 1|0 40 0 3 0 5 5 1|0 40 40 1",
		  40 },
		{ 1, "total,other,main|0 50 0 0|0 45 0 2 0 5 5 1|0 45 45 1", 45 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct flame_graph graph =
			graph_of(arena, window_a, ARRAY_LENGTH(window_a), cases[i].max_nodes);

		assert_graph(&graph, cases[i].graph);
		assert_int_equal(graph.total, 50);
		assert_int_equal(graph.max_self, cases[i].max_self);
		assert_false(graph.is_diff);
	}
}

static void empty_tree_is_one_total_of_nothing(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct flame_graph graph = graph_of(arena, NULL, 0, 8192);

	(void)state;
	assert_graph(&graph, "total|0 0 0 0");
	assert_int_equal(graph.total, 0);
}

static void a_function_named_other_is_a_leaf(void **state)
{
	static const struct tree_path paths[] = { { "main;other;x", 4 },
		                                  { "main;other", 3 },
		                                  { "main;z", 2 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct flame_graph graph = graph_of(arena, paths, ARRAY_LENGTH(paths), 0);

	(void)state;
	assert_graph(&graph, "total,main,other,z|0 9 0 0|0 9 0 1|0 2 2 3 0 7 7 2");
}

static void a_function_named_total_shares_the_root_s_name(void **state)
{
	static const struct tree_path paths[] = { { "total", 1 }, { "main;total;y", 6 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct flame_graph graph = graph_of(arena, paths, ARRAY_LENGTH(paths), 0);

	(void)state;
	assert_graph(&graph, "total,main,y|0 7 0 0|0 6 0 1 0 1 1 0|0 6 0 0|0 6 6 2");
	assert_int_equal(graph.max_self, 6);
}

static void a_function_without_name_has_a_name_of_its_own(void **state)
{
	static const struct tree_path paths[] = { { "a;;b", 1 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct flame_graph graph = graph_of(arena, paths, ARRAY_LENGTH(paths), 0);

	(void)state;
	assert_graph(&graph, "total,a,,b|0 1 0 0|0 1 0 1|0 1 0 2|0 1 1 3");
}

static void names_are_numbered_from_the_right(void **state)
{
	static const struct tree_path paths[] = {
		{ "r;b", 1 },        { "r;B", 2 }, { "r;a", 9 },  { "r;_", 3 },
		{ "r;\xc3\xa9", 4 }, { "r;Z", 5 }, { "r;10", 6 }, { "r;9", 7 },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct flame_graph graph = graph_of(arena, paths, ARRAY_LENGTH(paths), 0);

	(void)state;
	assert_graph(&graph, "total,r,\xc3\xa9,b,a,_,Z,B,9,10|0 37 0 0|0 37 0 1|0 6 6 9 0 7 7 8 "
	                     "0 2 2 7 0 5 5 6 0 3 3 5 0 9 9 4 0 1 1 3 0 4 4 2");
	assert_int_equal(graph.max_self, 9);
}

static void diff_is_that_of_the_worked_example(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct flame_graph whole = diff_of(arena, 8192);
	const struct flame_graph cut = diff_of(arena, 4);
	const struct flame_graph least = diff_of(arena, 1);

	(void)state;
	assert_graph(&whole, "total,main,work,io,compute,net,idle,gc|0 50 0 0 40 0 0"
	                     "|0 5 5 0 0 0 7 0 45 0 0 40 0 1"
	                     "|5 5 5 0 15 15 6 0 0 0 0 5 5 5 0 40 0 0 20 0 2"
	                     "|10 30 30 20 20 20 4 0 10 10 0 0 0 3");
	assert_true(whole.is_diff);
	assert_int_equal(whole.total, 90);
	assert_int_equal(whole.max_self, 30);
	assert_int_equal(whole.left_ticks, 50);
	assert_int_equal(whole.right_ticks, 40);
	assert_graph(&cut, "total,other,main,work,compute|0 50 0 0 40 0 0"
	                   "|0 45 0 0 40 0 2 0 5 5 0 0 0 1|0 40 0 0 20 0 3 0 5 5 0 20 20 1"
	                   "|0 30 30 0 20 20 4 0 10 10 0 0 0 1");
	assert_int_equal(cut.max_self, 30);
	assert_graph(&least, "total,other|0 50 0 0 40 0 0|0 50 50 0 40 40 1");
}

static void diff_of_nothing_is_seven_zeros(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct function_tree *empty = tree_of(arena, NULL, 0);
	struct flame_graph graph = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(flame_graph_diff(empty, empty, 8192, arena, &graph, &err), 0);
	assert_graph(&graph, "total|0 0 0 0 0 0 0");
}

static void diff_keeps_the_names_other_and_total_and_lends_the_empty_name(void **state)
{
	static const struct tree_path paths[] = { { "other;x", 1 }, { "total", 2 }, { ";y", 4 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct function_tree *left = tree_of(arena, paths, ARRAY_LENGTH(paths));
	const struct function_tree *right = tree_of(arena, NULL, 0);
	struct flame_graph graph = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(flame_graph_diff(left, right, 0, arena, &graph, &err), 0);
	assert_graph(&graph, "total,total,other,x,y|0 7 0 0 0 0 0"
	                     "|0 4 0 0 0 0 0 0 1 0 0 0 0 2 0 2 2 0 0 0 1"
	                     "|0 4 4 0 0 0 4 0 1 1 0 0 0 3");
}

/* One side of one node of a level, with its place. */
struct box {
	int64_t x;
	int64_t total;
	int64_t self;
};

static struct box box_at(const struct flame_graph *graph, size_t level, size_t index, size_t side)
{
	const size_t width = graph->is_diff ? FLAME_DIFF_WIDTH : FLAME_SINGLE_WIDTH;
	int64_t end = 0;

	for (size_t i = 0;; i++) {
		const int64_t *tuple = &graph->levels[level].values[i * width + 3 * side];

		if (i == index)
			return (struct box){ end + tuple[0], tuple[1], tuple[2] };
		end += tuple[0] + tuple[1];
	}
}

/* Every node lies inside one of the level above, behind that one's own part. */
static void assert_nested(const struct flame_graph *graph, size_t side)
{
	const size_t width = graph->is_diff ? FLAME_DIFF_WIDTH : FLAME_SINGLE_WIDTH;
	int64_t self = 0;

	for (size_t level = 0; level < graph->level_count; level++) {
		const size_t count = graph->levels[level].count / width;
		int64_t end = 0;

		assert_int_equal(graph->levels[level].count % width, 0);
		for (size_t i = 0; i < count; i++) {
			const struct box box = box_at(graph, level, i, side);
			const size_t above = level ? graph->levels[level - 1].count / width : 0;
			bool inside = level == 0;

			assert_true(box.x >= end);
			end = box.x + box.total;
			self += box.self;
			for (size_t j = 0; j < above && !inside; j++) {
				const struct box parent = box_at(graph, level - 1, j, side);

				inside = box.x >= parent.x + parent.self &&
				         end <= parent.x + parent.total;
			}
			assert_true(inside);
			assert_true(graph->levels[level].values[i * width + width - 1] <
			            (int64_t)graph->name_count);
		}
	}
	assert_int_equal(self, box_at(graph, 0, 0, side).total);
}

static void every_node_lies_inside_its_parent(void **state)
{
	(void)state;
	srand(3);
	for (int round = 0; round < 60; round++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct function_tree *left = tree_random(arena, 1 + rand() % 30);
		const struct function_tree *right = tree_random(arena, 1 + rand() % 30);
		const int64_t max_nodes = rand() % 20;
		struct function_tree *cuts[2] = { NULL };
		struct flame_graph graph = { 0 };
		struct error err = { 0 };

		assert_int_equal(function_tree_truncate(left, max_nodes, arena, &cuts[0], &err), 0);
		assert_int_equal(function_tree_truncate(right, max_nodes, arena, &cuts[1], &err),
		                 0);
		assert_int_equal(flame_graph_make(cuts[0], max_nodes, arena, &graph, &err), 0);
		assert_nested(&graph, 0);
		assert_int_equal(graph.total, left->nodes[0].total);
		assert_int_equal(flame_graph_diff(cuts[0], cuts[1], max_nodes, arena, &graph, &err),
		                 0);
		assert_nested(&graph, 0);
		assert_nested(&graph, 1);
		assert_int_equal(graph.left_ticks, left->nodes[0].total);
		assert_int_equal(graph.right_ticks, right->nodes[0].total);
	}
}

static void a_tree_beside_itself_has_equal_columns(void **state)
{
	(void)state;
	srand(4);
	for (int round = 0; round < 60; round++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct function_tree *tree = tree_random(arena, 1 + rand() % 40);
		struct flame_graph graph = { 0 };
		struct error err = { 0 };

		assert_int_equal(flame_graph_diff(tree, tree, rand() % 20, arena, &graph, &err), 0);
		assert_int_equal(graph.left_ticks, graph.right_ticks);
		for (size_t i = 0; i < graph.level_count; i++)
			for (size_t j = 0; j < graph.levels[i].count; j += FLAME_DIFF_WIDTH)
				assert_memory_equal(&graph.levels[i].values[j],
				                    &graph.levels[i].values[j + 3],
				                    3 * sizeof(int64_t));
	}
}

static void full_arena_is_an_error(void **state)
{
	CLEANUP(arena_freep) struct arena *trees = arena_new(ARENA_BYTES, NULL);
	const struct function_tree *left = tree_of(trees, window_a, ARRAY_LENGTH(window_a));
	const struct function_tree *right = tree_of(trees, window_b, ARRAY_LENGTH(window_b));

	(void)state;
	for (size_t limit = 0; limit < 32768; limit += 128) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(limit, NULL);
		struct flame_graph graph = { 0 };
		struct error err = { 0 };

		if (flame_graph_make(left, 2, arena, &graph, &err) < 0 ||
		    flame_graph_diff(left, right, 3, arena, &graph, &err) < 0)
			assert_int_equal(err.code, ERROR_TOO_LARGE);
		else
			assert_int_equal(graph.total, 90);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(graphs_are_those_of_the_worked_examples),
		cmocka_unit_test(empty_tree_is_one_total_of_nothing),
		cmocka_unit_test(a_function_named_other_is_a_leaf),
		cmocka_unit_test(a_function_named_total_shares_the_root_s_name),
		cmocka_unit_test(a_function_without_name_has_a_name_of_its_own),
		cmocka_unit_test(names_are_numbered_from_the_right),
		cmocka_unit_test(diff_is_that_of_the_worked_example),
		cmocka_unit_test(diff_of_nothing_is_seven_zeros),
		cmocka_unit_test(diff_keeps_the_names_other_and_total_and_lends_the_empty_name),
		cmocka_unit_test(every_node_lies_inside_its_parent),
		cmocka_unit_test(a_tree_beside_itself_has_equal_columns),
		cmocka_unit_test(full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
