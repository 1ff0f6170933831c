#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/function_tree.h"
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
	(void)state;
	for (size_t limit = 0; limit < 16384; limit += 64) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(limit, NULL);
		struct function_tree *tree = NULL;
		struct function_tree *cut = NULL;
		struct error err = { 0 };
		uint32_t node = 0;

		if (function_tree_new(arena, &tree, &err) == 0)
			for (const char *name = "abcdefgh"; *name && node != FUNCTION_TREE_NONE;
			     name++)
				node = function_tree_child(tree, node, str_make(name, 1));
		if (!tree || node == FUNCTION_TREE_NONE) {
			assert_int_equal(arena_error(arena, &err), -1);
			assert_int_equal(err.code, ERROR_TOO_LARGE);
			continue;
		}
		tree->nodes[node].self = 1;
		if (function_tree_finish(tree, &err) < 0 ||
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
		cmocka_unit_test(scaling_rounds_half_up),
		cmocka_unit_test(values_wrap_around),
		cmocka_unit_test(deep_trees_need_no_deep_stack),
		cmocka_unit_test(decoding_gives_back_any_tree),
		cmocka_unit_test(truncation_keeps_the_total_and_the_largest),
		cmocka_unit_test(malformed_bytes_are_refused),
		cmocka_unit_test(full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
