#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/function_tree.h"
#include "tests/unit/profile/symbols_fixture.h"
#include "tests/unit/profile/tree_fixture.h"

#define ARENA_BYTES ((size_t)64 << 20)

/* Window A of the specification's worked examples, 6.1. */
static const struct tree_path window_a[] = {
	{ "main;work;compute", 30 },
	{ "main;idle", 5 },
	{ "main;work;io", 10 },
	{ "gc", 5 },
};

static struct function_tree *tree_a(struct arena *arena)
{
	return tree_of(arena, window_a, ARRAY_LENGTH(window_a));
}

static void assert_hex(const struct function_tree *tree, const char *hex)
{
	struct strbuf bytes;
	char text[1024] = "";

	strbuf_init(&bytes, 1 << 20);
	function_tree_encode(tree, &bytes);
	assert_true(bytes.length * 2 < sizeof(text));
	for (size_t i = 0; i < bytes.length; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", (unsigned char)bytes.data[i]);
	assert_string_equal(text, hex);
	strbuf_fini(&bytes);
}

static void tree_encodes_as_the_worked_example(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);

	(void)state;
	assert_hex(tree_a(arena), "000002046d61696e000204776f726b000202696f0a0007636f6d707574651e00"
	                          "0469646c6505000267630500");
}

static void empty_tree_encodes_as_nothing(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct function_tree *tree = NULL;
	struct error err = { 0 };

	(void)state;
	assert_hex(tree_of(arena, NULL, 0), "");
	assert_int_equal(function_tree_decode(STR(""), arena, &tree, &err), 0);
	assert_int_equal(tree->node_count, 1);
	assert_int_equal(function_tree_decode(STR("\x01"), arena, &tree, &err), 0);
	assert_int_equal(tree->node_count, 1);
}

static void truncation_folds_as_the_worked_examples(void **state)
{
	static const struct {
		int64_t max_nodes;
		int64_t min_value;
		const char *hex;
	} cases[] = {
		{ 0, 0,
		  "000002046d61696e000204776f726b000202696f0a0007636f6d707574651e000469646c65"
		  "05000267630500" },
		{ 6, 0,
		  "000002046d61696e000204776f726b000202696f0a0007636f6d707574651e000469646c65"
		  "05000267630500" },
		{ 5, 5,
		  "000002046d61696e000204776f726b000202696f0a0007636f6d707574651e000469646c65"
		  "05000267630500" },
		{ 4, 10,
		  "000002056f746865720500046d61696e000204776f726b000202696f0a0007636f6d7075"
		  "74651e00056f746865720500" },
		{ 3, 30,
		  "000002056f746865720500046d61696e000204776f726b0002056f746865720a0007636f"
		  "6d707574651e00056f746865720500" },
		{ 2, 40,
		  "000002056f746865720500046d61696e000204776f726b0001056f746865722800056f74"
		  "6865720500" },
		{ 1, 45, "000002056f746865720500046d61696e0001056f746865722d00" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct function_tree *tree = tree_a(arena);
		struct function_tree *cut = NULL;
		struct error err = { 0 };
		int64_t min_value = -1;

		assert_int_equal(
			function_tree_min_value(tree, cases[i].max_nodes, &min_value, &err), 0);
		assert_int_equal(min_value, cases[i].min_value);
		assert_int_equal(
			function_tree_truncate(tree, cases[i].max_nodes, arena, &cut, &err), 0);
		assert_hex(cut, cases[i].hex);
	}
}

static void truncation_keeps_ties_and_the_whole_value_of_a_real_other(void **state)
{
	static const struct tree_path paths[] = {
		{ "r;a", 5 }, { "r;b", 5 }, { "r;c", 1 }, { "r;other;x", 1 }, { "r;other", 1 },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct function_tree *cut = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(function_tree_truncate(tree_of(arena, paths, ARRAY_LENGTH(paths)), 2,
	                                        arena, &cut, &err),
	                 0);
	assert_int_equal(cut->nodes[0].total, 13);
	assert_int_equal(tree_total(cut, "r;a"), 5);
	assert_int_equal(tree_total(cut, "r;b"), 5);
	assert_int_equal(tree_total(cut, "r;c"), -1);
	assert_int_equal(tree_total(cut, "r;other"), 3);
	assert_int_equal(tree_total(cut, "r;other;other"), 1);
}

static void children_come_in_the_order_of_their_bytes(void **state)
{
	static const struct tree_path paths[] = {
		{ "r;b", 1 },
		{ "r;B", 2 },
		{ "r;a", 9 },
		{ "r;_", 3 },
		{ "r;\xc3\xa9", 4 },
		{ "r;Z", 5 },
		{ "r;10", 6 },
		{ "r;9", 7 },
		{ "r;long prefix b", 1 },
		{ "r;long prefix a", 1 },
		{ "r;long prefix", 1 },
		{ "r;long pre", 1 },
	};
	static const char *const expected[] = {
		"10",
		"9",
		"B",
		"Z",
		"_",
		"a",
		"b",
		"long pre",
		"long prefix",
		"long prefix a",
		"long prefix b",
		"\xc3\xa9",
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct function_tree *tree = tree_of(arena, paths, ARRAY_LENGTH(paths));
	uint32_t at = tree->nodes[tree->nodes[0].first_child].first_child;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		assert_true(at != FUNCTION_TREE_NONE);
		assert_true(str_equals(tree->names[tree->nodes[at].name], expected[i]));
		at = tree->nodes[at].next_sibling;
	}
	assert_true(at == FUNCTION_TREE_NONE);
}

static void sums_merge_by_name_over_windows(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *first = fixture_new();
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *second = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const uint32_t a[] = { fixture_path(first, "main;work;compute"),
		               fixture_path(first, "main;idle"), fixture_path(first, "none") };
	const uint32_t b[] = { fixture_path(second, "gc"), fixture_path(second, "main;work;io"),
		               fixture_path(second, "main;work;compute") };
	const struct stack_sums sums[] = {
		{ &first->symbols, 0, a, (int64_t[]){ 20, 5, -3 }, 3 },
		{ &second->symbols, 0, b, (int64_t[]){ 5, 10, 10 }, 3 },
	};
	struct function_tree *tree = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(function_tree_new(arena, &tree, &err), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(function_tree_add_sums(tree, &sums[i], &err), 0);
	assert_int_equal(function_tree_finish(tree, &err), 0);
	assert_hex(tree, "000002046d61696e000204776f726b000202696f0a0007636f6d707574651e00"
	                 "0469646c6505000267630500");
}

static void functions_of_one_name_are_one_node(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const uint32_t first = fixture_function(f, STR("dup"), "/a.c");
	const uint32_t second = fixture_function(f, STR("dup"), "/b.c");
	const uint32_t stacks[] = {
		fixture_stack(f, 0,
		              fixture_location(f, PROFILE_NONE, 1,
		                               &(struct symbol_line){ 10, first, 0 }, 1)),
		fixture_stack(f, 0,
		              fixture_location(f, PROFILE_NONE, 2,
		                               &(struct symbol_line){ 20, second, 0 }, 1)),
	};
	const struct stack_sums sums = { &f->symbols, 0, stacks, (int64_t[]){ 1, 2 }, 2 };
	struct function_tree *tree = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(function_tree_new(arena, &tree, &err), 0);
	assert_int_equal(function_tree_add_sums(tree, &sums, &err), 0);
	assert_int_equal(function_tree_finish(tree, &err), 0);
	assert_int_equal(tree->node_count, 2);
	assert_int_equal(tree_total(tree, "dup"), 3);
}

static void inlined_lines_and_bare_locations_are_frames(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const uint32_t lib = fixture_mapping(f, 0x1000, 0x2000, "/usr/lib/libcuda.so.1", "");
	const uint32_t nameless = fixture_mapping(f, 0x3000, 0x4000, "", "");
	const struct symbol_line lines[] = {
		{ 3, fixture_function(f, STR("in2"), ""), 0 },
		{ 2, fixture_function(f, STR("in1"), ""), 0 },
		{ 1, fixture_function(f, STR("outer"), ""), 0 },
	};
	const uint32_t outer = fixture_stack(f, 0, fixture_location(f, lib, 16, lines, 3));
	const uint32_t stacks[] = {
		outer,
		fixture_stack(f, outer, fixture_location(f, lib, 0x7f0000001234, NULL, 0)),
		fixture_stack(f, 0, fixture_location(f, nameless, 0x3abc, NULL, 0)),
		fixture_stack(f, 0, fixture_location(f, PROFILE_NONE, 0, NULL, 0)),
	};
	const struct stack_sums sums = { &f->symbols, 0, stacks, (int64_t[]){ 1, 2, 4, 8 }, 4 };
	struct function_tree *tree = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(function_tree_new(arena, &tree, &err), 0);
	assert_int_equal(function_tree_add_sums(tree, &sums, &err), 0);
	assert_int_equal(function_tree_finish(tree, &err), 0);
	assert_int_equal(tree_total(tree, "outer"), 3);
	assert_int_equal(tree_total(tree, "outer;in1;in2"), 3);
	assert_int_equal(tree_total(tree, "outer;in1;in2;libcuda.so.1!0x7f0000001234"), 2);
	assert_int_equal(tree_total(tree, "unknown!0x3abc"), 4);
	assert_int_equal(tree_total(tree, "unknown!0x0"), 8);
	assert_int_equal(tree->nodes[0].total, 15);
}

static void scaling_rounds_half_up(void **state)
{
	static const struct {
		int64_t value;
		int64_t numerator;
		int64_t denominator;
		int64_t result;
	} cases[] = {
		{ 10, 1, 4, 3 },  /* 2.5 */
		{ 9, 1, 4, 2 },   /* 2.25 */
		{ 11, 1, 4, 3 },  /* 2.75 */
		{ 1, 1, 60, 0 },  /* 0.017 */
		{ 30, 1, 60, 1 }, /* 0.5 */
		{ 7, 3, 1, 21 },
		{ -10, 1, 4, -2 }, /* -2.5 */
		{ INT64_MAX, 2, 2, INT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(function_tree_scale(cases[i].value, cases[i].numerator,
		                                     cases[i].denominator),
		                 cases[i].result);
}

static void scaled_tree_leaves_out_what_becomes_nothing(void **state)
{
	static const struct tree_path paths[] = { { "a;b", 10 }, { "a", 3 }, { "c;d", 1 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct function_tree *other = tree_of(arena, paths, ARRAY_LENGTH(paths));
	struct function_tree *tree = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(function_tree_new(arena, &tree, &err), 0);
	assert_int_equal(function_tree_add_tree(tree, other, 1, 4, &err), 0);
	assert_int_equal(function_tree_add_tree(tree, other, 1, 4, &err), 0);
	assert_int_equal(function_tree_finish(tree, &err), 0);
	assert_int_equal(tree_total(tree, "a"), 8); /* twice 3 + 1 */
	assert_int_equal(tree_total(tree, "a;b"), 6);
	assert_int_equal(tree_total(tree, "c"), -1);
}

static void values_wrap_around(void **state)
{
	static const struct tree_path paths[] = { { "a", INT64_MAX }, { "b", 2 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct function_tree *tree = tree_of(arena, paths, ARRAY_LENGTH(paths));

	(void)state;
	assert_true(tree->nodes[0].total == INT64_MIN + 1);
}

static void deep_trees_need_no_deep_stack(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)512 << 20, NULL);
	struct function_tree *tree = NULL;
	struct function_tree *again = NULL;
	struct function_tree *cut = NULL;
	struct error err = { 0 };
	struct strbuf bytes;
	uint32_t node = 0;

	(void)state;
	assert_int_equal(function_tree_new(arena, &tree, &err), 0);
	for (int i = 0; i < 300000; i++)
		node = function_tree_child(tree, node, STR("f"));
	tree->nodes[node].self = 7;
	assert_int_equal(function_tree_finish(tree, &err), 0);
	strbuf_init(&bytes, SIZE_MAX / 2);
	function_tree_encode(tree, &bytes);
	assert_int_equal(function_tree_decode(strbuf_view(&bytes), arena, &again, &err), 0);
	assert_int_equal(again->node_count, 300001);
	assert_int_equal(again->nodes[0].total, 7);
	assert_int_equal(function_tree_truncate(again, 10, arena, &cut, &err), 0);
	assert_int_equal(cut->nodes[0].total, 7);
	strbuf_fini(&bytes);
}

static void decoding_gives_back_any_tree(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < 200; round++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct function_tree *tree = tree_random(arena, 1 + rand() % 60);
		struct function_tree *again = NULL;
		struct error err = { 0 };
		struct strbuf bytes;
		struct strbuf more;
		int64_t sum = 0;

		strbuf_init(&bytes, 1 << 20);
		strbuf_init(&more, 1 << 20);
		function_tree_encode(tree, &bytes);
		assert_int_equal(function_tree_decode(strbuf_view(&bytes), arena, &again, &err), 0);
		function_tree_encode(again, &more);
		assert_true(str_equal(strbuf_view(&bytes), strbuf_view(&more)));
		assert_int_equal(again->node_count, tree->node_count);
		for (size_t i = 0; i < again->node_count; i++)
			sum += again->nodes[i].self;
		assert_int_equal(sum, tree->nodes[0].total);
		assert_int_equal(sum, again->nodes[0].total);
		strbuf_fini(&bytes);
		strbuf_fini(&more);
	}
}

static void truncation_keeps_the_total_and_the_largest(void **state)
{
	(void)state;
	srand(2);
	for (int round = 0; round < 200; round++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct function_tree *tree = tree_random(arena, 80);
		const int64_t max_nodes = 1 + rand() % 40;
		struct function_tree *cut = NULL;
		struct error err = { 0 };
		int64_t min_value = 0;
		size_t larger = 0;

		assert_int_equal(function_tree_min_value(tree, max_nodes, &min_value, &err), 0);
		assert_int_equal(function_tree_truncate(tree, max_nodes, arena, &cut, &err), 0);
		assert_int_equal(cut->nodes[0].total, tree->nodes[0].total);
		for (size_t i = 1; i < tree->node_count; i++)
			larger += tree->nodes[i].total > min_value;
		if ((size_t)max_nodes < tree->node_count - 1)
			assert_true(larger < (size_t)max_nodes);
	}
}

static void malformed_bytes_are_refused(void **state)
{
	static const struct str cases[] = {
		{ "\x00\x00", 2 },     /* cut before the count */
		{ "\x00\x00\x01", 3 }, /* a child is missing */
		{ "\x05\x00\x00", 3 }, /* the name is longer than the bytes */
		{ "\x00\x00\x01\x01"
		  "a\x01\x00\x00",
		  8 }, /* something behind the end */
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00", 11 }, /* 70 bits */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct function_tree *tree = NULL;
		struct error err = { 0 };

		assert_int_equal(function_tree_decode(cases[i], arena, &tree, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_null(tree);
	}
}

static void full_arena_is_an_error(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	const uint32_t stack = fixture_path(f, "a;b;c;d;e;f;g;h");
	const struct stack_sums sums = { &f->symbols, 0, &stack, (int64_t[]){ 1 }, 1 };

	(void)state;
	for (size_t limit = 0; limit < 16384; limit += 64) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(limit, NULL);
		struct function_tree *tree = NULL;
		struct function_tree *cut = NULL;
		struct error err = { 0 };

		if (function_tree_new(arena, &tree, &err) < 0 ||
		    function_tree_add_sums(tree, &sums, &err) < 0 ||
		    function_tree_finish(tree, &err) < 0 ||
		    function_tree_truncate(tree, 3, arena, &cut, &err) < 0)
			assert_int_equal(err.code, ERROR_TOO_LARGE);
		else
			assert_int_equal(cut->nodes[0].total, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree_encodes_as_the_worked_example),
		cmocka_unit_test(empty_tree_encodes_as_nothing),
		cmocka_unit_test(truncation_folds_as_the_worked_examples),
		cmocka_unit_test(truncation_keeps_ties_and_the_whole_value_of_a_real_other),
		cmocka_unit_test(children_come_in_the_order_of_their_bytes),
		cmocka_unit_test(sums_merge_by_name_over_windows),
		cmocka_unit_test(functions_of_one_name_are_one_node),
		cmocka_unit_test(inlined_lines_and_bare_locations_are_frames),
		cmocka_unit_test(scaling_rounds_half_up),
		cmocka_unit_test(scaled_tree_leaves_out_what_becomes_nothing),
		cmocka_unit_test(values_wrap_around),
		cmocka_unit_test(deep_trees_need_no_deep_stack),
		cmocka_unit_test(decoding_gives_back_any_tree),
		cmocka_unit_test(truncation_keeps_the_total_and_the_largest),
		cmocka_unit_test(malformed_bytes_are_refused),
		cmocka_unit_test(full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
