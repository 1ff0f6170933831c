#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/call_graph.h"
#include "profile/dot.h"
#include "profile/profile_merger.h"
#include "tests/unit/profile/symbols_fixture.h"

#define ARENA_BYTES ((size_t)16 << 20)

struct stack_value {
	const char *path;
	int64_t value;
};

/* Window A of the specification's worked examples, 6.1. */
static const struct stack_value window_a[] = {
	{ "main;work;compute", 30 },
	{ "main;idle", 5 },
	{ "main;work;io", 10 },
	{ "gc", 5 },
};

static struct profile profile_of(struct arena *arena, const char *unit,
                                 const struct stack_value *values, size_t count)
{
	const struct profile_type type = { STR("process_cpu"), STR("cpu"), str_of(unit), STR("cpu"),
		                           str_of(unit) };
	struct profile_merger *merger = NULL;
	struct profile profile = { 0 };
	struct error err;

	assert_int_equal(profile_merger_new(arena, &merger, &err), 0);
	for (size_t i = 0; i < count; i++) {
		CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
		const uint32_t stack = fixture_path(f, values[i].path);
		const struct stack_sums sums = { &f->symbols, 0, &stack, &values[i].value, 1 };

		assert_int_equal(profile_merger_add_sums(merger, &sums, 1, 1, &err), 0);
	}
	assert_int_equal(
		profile_merger_finish(merger,
	                              &(struct profile_merge_options){
					      .type = &type, .end_unix_ns = 1767225660000000000 },
	                              &profile, &err),
		0);
	return profile;
}

static const struct call_node *node_named(const struct call_graph *graph, const char *name)
{
	for (size_t i = 0; i < graph->node_count; i++)
		if (str_equals(graph->nodes[i].name, name))
			return &graph->nodes[i];
	return NULL;
}

/* The weight of an edge, negative when it is residual, 0 when there is none. */
static int64_t edge_between(const struct call_graph *graph, const char *from, const char *to)
{
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct call_edge *edge = &graph->edges[i];

		if (str_equals(graph->nodes[edge->from].name, from) &&
		    str_equals(graph->nodes[edge->to].name, to))
			return edge->is_residual ? -edge->weight : edge->weight;
	}
	return 0;
}

static void graph_counts_callers_and_callees(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct profile profile =
		profile_of(arena, "nanoseconds", window_a, ARRAY_LENGTH(window_a));
	struct call_graph graph;
	struct error err;

	(void)state;
	assert_int_equal(call_graph_make(&profile, 0, arena, &graph, &err), 0);
	assert_int_equal(graph.node_count, 6);
	assert_int_equal(graph.edge_count, 4);
	assert_int_equal(graph.total, 50);
	assert_int_equal(node_named(&graph, "main")->flat, 0);
	assert_int_equal(node_named(&graph, "main")->cum, 45);
	assert_int_equal(node_named(&graph, "compute")->flat, 30);
	assert_int_equal(node_named(&graph, "gc")->cum, 5);
	assert_int_equal(edge_between(&graph, "main", "work"), 40);
	assert_int_equal(edge_between(&graph, "work", "compute"), 30);
	assert_int_equal(edge_between(&graph, "work", "io"), 10);
	assert_int_equal(edge_between(&graph, "main", "idle"), 5);
}

static void recursion_is_counted_once(void **state)
{
	static const struct stack_value values[] = { { "a;b;a;b", 7 }, { "a;a", 2 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct profile profile = profile_of(arena, "count", values, ARRAY_LENGTH(values));
	struct call_graph graph;
	struct error err;

	(void)state;
	assert_int_equal(call_graph_make(&profile, 0, arena, &graph, &err), 0);
	assert_int_equal(node_named(&graph, "a")->cum, 9);
	assert_int_equal(node_named(&graph, "a")->flat, 2);
	assert_int_equal(node_named(&graph, "b")->cum, 7);
	assert_int_equal(edge_between(&graph, "a", "b"), 7);
	assert_int_equal(edge_between(&graph, "b", "a"), 7);
	assert_int_equal(edge_between(&graph, "a", "a"), 0);
}

static void functions_left_out_leave_residual_edges(void **state)
{
	/* "pass" only hands on: it tells the least. */
	static const struct stack_value values[] = { { "main;pass;leaf", 10 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct profile profile = profile_of(arena, "count", values, ARRAY_LENGTH(values));
	struct call_graph graph;
	struct error err;

	(void)state;
	assert_int_equal(call_graph_make(&profile, 2, arena, &graph, &err), 0);
	assert_int_equal(graph.node_count, 2);
	assert_int_equal(graph.function_count, 3);
	assert_null(node_named(&graph, "pass"));
	assert_int_equal(edge_between(&graph, "main", "leaf"), -10);
	assert_int_equal(node_named(&graph, "leaf")->flat, 10);
	assert_int_equal(node_named(&graph, "main")->cum, 10);
}

static void text_has_legend_nodes_and_edges(void **state)
{
	static const char *const expected[] = {
		"digraph \"unnamed\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n",
		"subgraph cluster_L { \"Type: cpu\" [shape=box fontsize=16 label=\"Type: cpu\\l",
		"\\lTime: 2026-01-01 00:01:00 UTC\\l",
		"Showing nodes accounting for 50ns, 100% of 50ns total\\l\"] }\n",
		" [label=\"main\\n0 of 45ns (90%)\" id=\"node",
		" [label=\"compute\\n30ns (60%)\" id=\"node",
		" fontsize=24 shape=box tooltip=\"compute (30ns)\" color=\"#",
		" [label=\" 40ns\" weight=81 penwidth=5 color=\"#",
		" tooltip=\"main -> work (40ns)\" labeltooltip=\"main -> work (40ns)\"]\n",
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct profile profile =
		profile_of(arena, "nanoseconds", window_a, ARRAY_LENGTH(window_a));
	struct strbuf text;
	struct error err;

	(void)state;
	strbuf_init(&text, 1 << 20);
	assert_int_equal(dot_write(&profile, 0, arena, &text, &err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
		if (str_find(strbuf_view(&text), str_of(expected[i])) < 0)
			fail_msg("%s is not in %s", expected[i], text.data);
	assert_true(str_ends_with(strbuf_view(&text), STR("}\n")));

	strbuf_reset(&text);
	assert_int_equal(dot_write(&profile, 3, arena, &text, &err), 0);
	assert_true(str_find(strbuf_view(&text), STR("Showing top 3 nodes out of 6\\l")) > 0);
	strbuf_fini(&text);
}

static void values_have_readable_units(void **state)
{
	static const struct {
		const char *unit;
		int64_t value;
		const char *text;
	} cases[] = {
		{ "nanoseconds", 999, "999ns (100%)" },
		{ "nanoseconds", 1500, "1.50us (100%)" },
		{ "nanoseconds", 10000000000, "10s (100%)" },
		{ "nanoseconds", 5400000000000, "1.50hrs (100%)" },
		{ "milliseconds", 90000, "1.50mins (100%)" },
		{ "bytes", 1024, "1kB (100%)" },
		{ "bytes", 1610612736, "1.50GB (100%)" },
		{ "count", 1234567, "1234567 (100%)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct stack_value value = { "f", cases[i].value };
		const struct profile profile = profile_of(arena, cases[i].unit, &value, 1);
		struct strbuf text;
		struct error err;

		strbuf_init(&text, 1 << 16);
		assert_int_equal(dot_write(&profile, 0, arena, &text, &err), 0);
		if (str_find(strbuf_view(&text), str_of(cases[i].text)) < 0)
			fail_msg("%s is not in %s", cases[i].text, text.data);
		strbuf_fini(&text);
	}
}

static void odd_names_are_escaped(void **state)
{
	static const struct stack_value values[] = { { "say \"hi\"\\;tab\tnl\n;bad\xff", 1 },
		                                     { "main.(*T).Run;std::sort<int>", 2 } };
	static const char *const expected[] = {
		"[label=\"say \\\"hi\\\"\\\\\\n",
		"tab nl\\n",
		"bad\xef\xbf\xbd",
		"[label=\"main\\n(*T)\\nRun\\n",
		"[label=\"std\\nsort<int>\\n",
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct profile profile = profile_of(arena, "count", values, ARRAY_LENGTH(values));
	struct strbuf text;
	struct error err;

	(void)state;
	strbuf_init(&text, 1 << 16);
	assert_int_equal(dot_write(&profile, 0, arena, &text, &err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
		if (str_find(strbuf_view(&text), str_of(expected[i])) < 0)
			fail_msg("%s is not in %s", expected[i], text.data);
	strbuf_fini(&text);
}

static void profile_without_samples_is_no_text(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct profile profile = profile_of(arena, "count", NULL, 0);
	struct strbuf text;
	struct error err;

	(void)state;
	strbuf_init(&text, 1 << 16);
	assert_int_equal(dot_write(&profile, 100, arena, &text, &err), 0);
	assert_int_equal(text.length, 0);
	strbuf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(graph_counts_callers_and_callees),
		cmocka_unit_test(recursion_is_counted_once),
		cmocka_unit_test(functions_left_out_leave_residual_edges),
		cmocka_unit_test(text_has_legend_nodes_and_edges),
		cmocka_unit_test(values_have_readable_units),
		cmocka_unit_test(odd_names_are_escaped),
		cmocka_unit_test(profile_without_samples_is_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
