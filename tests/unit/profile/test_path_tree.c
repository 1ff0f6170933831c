#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/path_tree.h"
#include "profile/stack_paths.h"
#include "tests/unit/profile/symbols_fixture.h"
#include "tests/unit/profile/tree_fixture.h"

#define ARENA_BYTES ((size_t)64 << 20)

/* A merge over made windows: what each of them has of each part, by stack. */
struct merging {
	struct path_table *table;
	struct path_tree *tree;
	struct arena *arena;
};

static void merging_begin(struct merging *merging)
{
	struct error err;

	merging->arena = arena_new(ARENA_BYTES, NULL);
	merging->table = path_table_new(1, NULL);
	assert_int_equal(path_tree_new(merging->arena, &merging->tree, &err), 0);
}

static void merging_end(struct merging *merging)
{
	path_tree_free(merging->tree);
	path_table_release(merging->table);
	arena_free(merging->arena);
}

static void add(const struct merging *merging, struct stack_paths *paths,
                const struct stack_sums *sums, int64_t divisor)
{
	struct path_sums by_path;
	struct error err;

	assert_int_equal(stack_paths_of_sums(paths, merging->table, sums, merging->arena, &by_path,
	                                     &err),
	                 0);
	assert_int_equal(path_tree_add(merging->tree, &by_path, divisor, &err), 0);
}

static void add_window(const struct merging *merging, const struct stack_sums *sums,
                       int64_t divisor)
{
	struct stack_paths *paths = stack_paths_new(merging->table);

	add(merging, paths, sums, divisor);
	stack_paths_release(paths);
}

static const struct function_tree *finish(const struct merging *merging, const struct path_cut *cut)
{
	struct function_tree *out = NULL;
	struct error err;

	assert_int_equal(path_tree_finish(merging->tree, cut, &out, &err), 0);
	return out;
}

static const struct path_cut whole = { 0 };

/* The worked example of the specification, 6.1, in two windows. */
static void sums_merge_by_name_over_windows(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *first = fixture_new();
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *second = fixture_new();
	const uint32_t a[] = { fixture_path(first, "main;work;compute"),
		               fixture_path(first, "main;idle"), fixture_path(first, "none") };
	const uint32_t b[] = { fixture_path(second, "gc"), fixture_path(second, "main;work;io"),
		               fixture_path(second, "main;work;compute") };
	const struct stack_sums sums[] = {
		{ &first->symbols, 0, a, (int64_t[]){ 20, 5, -3 }, 3 },
		{ &second->symbols, 0, b, (int64_t[]){ 5, 10, 10 }, 3 },
	};
	const struct function_tree *tree;
	struct merging merging;

	(void)state;
	merging_begin(&merging);
	for (size_t i = 0; i < 2; i++)
		add_window(&merging, &sums[i], 1);
	tree = finish(&merging, &whole);
	assert_int_equal(tree->node_count, 7);
	assert_int_equal(tree_total(tree, "main"), 45);
	assert_int_equal(tree_total(tree, "main;work"), 40);
	assert_int_equal(tree_total(tree, "main;work;compute"), 30);
	assert_int_equal(tree_total(tree, "main;work;io"), 10);
	assert_int_equal(tree_total(tree, "main;idle"), 5);
	assert_int_equal(tree_total(tree, "gc"), 5);
	assert_int_equal(tree_total(tree, "none"), -1);
	merging_end(&merging);
}

/* 6.1 again: four nodes are kept from 10 on, the rest is "other". */
static void the_cut_folds_as_the_worked_example(void **state)
{
	static const struct tree_path paths[] = {
		{ "main;work;compute", 30 },
		{ "main;idle", 5 },
		{ "main;work;io", 10 },
		{ "gc", 5 },
	};
	const struct path_cut cut = { .max_nodes = 4 };
	const struct function_tree *tree;
	struct merging merging;

	(void)state;
	merging_begin(&merging);
	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
		CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
		const uint32_t stack = fixture_path(f, paths[i].path);

		add_window(&merging,
		           &(struct stack_sums){ &f->symbols, 0, &stack, &paths[i].self, 1 }, 1);
	}
	tree = finish(&merging, &cut);
	assert_int_equal(tree->node_count, 7);
	assert_int_equal(tree->nodes[0].total, 50);
	assert_int_equal(tree_total(tree, "other"), 5);
	assert_int_equal(tree_total(tree, "main"), 45);
	assert_int_equal(tree_total(tree, "main;other"), 5);
	assert_int_equal(tree_total(tree, "main;work;compute"), 30);
	assert_int_equal(tree_total(tree, "main;work;io"), 10);
	merging_end(&merging);
}

/* One part in two windows is rounded once: (1 + 1) / 4 and (3 + 3) / 4, half up. */
static void a_part_is_divided_once_over_windows(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	const uint32_t stacks[] = { fixture_path(f, "a;b"), fixture_path(f, "a"),
		                    fixture_path(f, "c;d") };
	const struct stack_sums divided = { &f->symbols, 2, stacks, (int64_t[]){ 1, 3 }, 2 };
	const struct stack_sums nothing = { &f->symbols, 3, &stacks[2], (int64_t[]){ 1 }, 1 };
	const struct stack_sums plain = { &f->symbols, 5, stacks, (int64_t[]){ 100 }, 1 };
	const struct function_tree *tree;
	struct merging merging;

	(void)state;
	merging_begin(&merging);
	add_window(&merging, &divided, 4);
	add_window(&merging, &nothing, 3); /* a third */
	add_window(&merging, &plain, 1);
	add_window(&merging, &divided, 4);
	tree = finish(&merging, &whole);
	assert_int_equal(tree_total(tree, "a;b"), 101);
	assert_int_equal(tree_total(tree, "a"), 103);
	assert_int_equal(tree_total(tree, "c"), -1);
	merging_end(&merging);
}

static void nothing_added_is_an_empty_tree(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	const uint32_t stack = fixture_path(f, "a");
	struct merging merging;

	(void)state;
	merging_begin(&merging);
	assert_int_equal(finish(&merging, &whole)->node_count, 1);
	add_window(&merging, &(struct stack_sums){ &f->symbols, 0, &stack, (int64_t[]){ 0 }, 1 },
	           1);
	assert_int_equal(finish(&merging, &whole)->node_count, 1);
	merging_end(&merging);
}

static void sums_wrap_around(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	const uint32_t stacks[] = { fixture_path(f, "a"), fixture_path(f, "b") };
	const struct stack_sums sums = { &f->symbols, 0, stacks, (int64_t[]){ INT64_MAX, 2 }, 2 };
	struct merging merging;

	(void)state;
	merging_begin(&merging);
	add_window(&merging, &sums, 1);
	assert_true(finish(&merging, &whole)->nodes[0].total == INT64_MIN + 1);
	merging_end(&merging);
}

/* ---- against a plain walk over each stack ---- */

#define FRAMES_MAX (3 * FIXTURE_MAX) /* of one stack */

/* Locations of one name, of two of one name, of inlined lines and of none. */
static uint32_t random_location(struct symbols_fixture *f)
{
	static const char *const names[] = { "a",    "b", "other", "", "long name of a function",
		                             "total" };
	struct symbol_line lines[3];
	uint32_t count = (uint32_t)rand() % 4;

	if (f->symbols.location_count >= 64)
		return (uint32_t)rand() % f->symbols.location_count;
	for (uint32_t i = 0; i < count; i++)
		lines[i] = (struct symbol_line){
			rand() % 9,
			fixture_function(f, str_of(names[rand() % 6]), rand() % 2 ? "x" : "y"), 0
		};
	return fixture_location(f, rand() % 2 ? PROFILE_NONE : fixture_mapping(f, 0, 9, "/l/z", ""),
	                        (uint64_t)(rand() % 3), lines, count);
}

/* Stacks of a window: each behind the root or an earlier one, so that recursion happens. */
static void random_stacks(struct symbols_fixture *f)
{
	const int count = 1 + rand() % 150;

	for (int i = 0; i < count; i++)
		(void)fixture_stack(f, (uint32_t)rand() % f->symbols.stack_count,
		                    random_location(f));
}

/* Adds a value at the frames of a stack, walked from its leaf to the root. */
static void walk_stack(const struct symbols_fixture *f, uint32_t stack, int64_t value,
                       struct function_tree *tree)
{
	struct str frames[FRAMES_MAX];
	char bare_names[FIXTURE_MAX][64];
	size_t bare_count = 0;
	size_t count = 0;
	uint32_t node = 0;

	for (; stack != 0; stack = f->stacks[stack].parent) {
		const struct symbol_location *location = &f->locations[f->stacks[stack].location];

		for (uint32_t i = 0; i < location->line_count; i++)
			frames[count++] =
				f->strings[f->functions[f->lines[location->first_line + i].function]
			                           .name];
		if (location->line_count > 0)
			continue;
		(void)snprintf(bare_names[bare_count], sizeof(bare_names[0]), "%s!0x%llx",
		               location->mapping == PROFILE_NONE ? "unknown" : "z",
		               (unsigned long long)location->address);
		frames[count++] = str_of(bare_names[bare_count++]);
	}
	while (count > 0)
		node = function_tree_child(tree, node, frames[--count]);
	tree->nodes[node].self += value;
}

/* Whether a node's path begins with the names. */
static bool begins_with(const struct function_tree *tree, uint32_t node, const struct str *names,
                        size_t count)
{
	uint32_t path[FRAMES_MAX];
	size_t depth = 0;

	for (; node != 0; node = tree->nodes[node].parent)
		path[depth++] = node;
	if (depth < count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!str_equal(tree->names[tree->nodes[path[depth - 1 - i]].name], names[i]))
			return false;
	return true;
}

/* Copies a value to the same path of another tree. */
static void copy_value(const struct function_tree *from, uint32_t node, int64_t value,
                       struct function_tree *to)
{
	uint32_t path[FRAMES_MAX];
	size_t depth = 0;
	uint32_t at = 0;

	for (; node != 0; node = from->nodes[node].parent)
		path[depth++] = node;
	while (depth > 0)
		at = function_tree_child(to, at, from->names[from->nodes[path[--depth]].name]);
	to->nodes[at].self += value;
}

#define PARTS   3
#define WINDOWS 3

static const int64_t divisors[PARTS] = { 1, 4, 7 };

/* What the parts' trees come to: divided, and what begins with the call site, cut. */
static struct function_tree *expected_tree(struct function_tree *const *parts,
                                           const struct path_cut *cut, struct arena *arena)
{
	struct function_tree *all = tree_of(arena, NULL, 0);
	struct function_tree *out = NULL;
	struct error err;

	for (size_t part = 0; part < PARTS; part++)
		for (uint32_t i = 1; i < parts[part]->node_count; i++) {
			/* to the nearest, half up: (2 v + d) / 2 d, by division of positives */
			const int64_t value = (2 * parts[part]->nodes[i].self + divisors[part]) /
			                      (2 * divisors[part]);

			if (value > 0 &&
			    begins_with(parts[part], i, cut->call_site, cut->call_site_count))
				copy_value(parts[part], i, value, all);
		}
	assert_int_equal(function_tree_finish(all, &err), 0);
	assert_int_equal(function_tree_truncate(all, cut->max_nodes, arena, &out, &err), 0);
	return out;
}

static void trees_are_equal(const struct function_tree *found, const struct function_tree *expected)
{
	struct strbuf a;
	struct strbuf b;

	strbuf_init(&a, 1 << 24);
	strbuf_init(&b, 1 << 24);
	function_tree_encode(found, &a);
	function_tree_encode(expected, &b);
	assert_int_equal(found->node_count, expected->node_count);
	assert_true(str_equal(strbuf_view(&a), strbuf_view(&b)));
	assert_true(found->nodes[0].total == expected->nodes[0].total);
	strbuf_fini(&a);
	strbuf_fini(&b);
}

/* One window's sums of all parts, to both sides. */
static void add_random_window(const struct merging *merging, struct symbols_fixture *f,
                              struct stack_paths *paths, struct function_tree *const *parts)
{
	for (uint32_t part = 0; part < PARTS; part++) {
		uint32_t stacks[FIXTURE_MAX];
		int64_t values[FIXTURE_MAX];
		struct stack_sums sums = { &f->symbols, part, stacks, values, 0 };

		for (uint32_t stack = 1; stack < f->symbols.stack_count; stack++) {
			if (rand() % 3 == 0)
				continue;
			stacks[sums.count] = stack;
			values[sums.count] = rand() % 40 - 10;
			if (values[sums.count] > 0)
				walk_stack(f, stack, values[sums.count], parts[part]);
			sums.count++;
		}
		add(merging, paths, &sums, divisors[part]);
	}
}

static void any_merge_is_what_a_walk_over_each_stack_gives(void **state)
{
	static const struct str sites[][2] = { { { "a", 1 }, { "b", 1 } },
		                               { { "other", 5 }, { "", 0 } },
		                               { { "zz", 2 }, { "a", 1 } } };

	(void)state;
	srand(7);
	for (int round = 0; round < 120; round++) {
		const struct path_cut cut = {
			.call_site = sites[rand() % 3],
			.call_site_count = (size_t)(rand() % 3),
			.max_nodes = rand() % 2 ? rand() % 40 : 0,
		};
		struct function_tree *parts[PARTS];
		struct merging merging;

		merging_begin(&merging);
		for (size_t i = 0; i < PARTS; i++)
			parts[i] = tree_of(merging.arena, NULL, 0);
		for (int window = 0; window < WINDOWS; window++) {
			CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
			struct stack_paths *paths = stack_paths_new(merging.table);

			/* asked twice, and grown between */
			for (int times = 0; times < 2; times++) {
				random_stacks(f);
				add_random_window(&merging, f, paths, parts);
			}
			stack_paths_release(paths);
		}
		trees_are_equal(finish(&merging, &cut), expected_tree(parts, &cut, merging.arena));
		merging_end(&merging);
	}
}

static void a_full_arena_is_an_error(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	const uint32_t stack = fixture_path(f, "a;b;c;d;e;f;g;h");
	const struct stack_sums sums = { &f->symbols, 0, &stack, (int64_t[]){ 8 }, 1 };
	size_t done = 0;

	(void)state;
	for (size_t limit = 0; limit < 400000; limit += 2000) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(limit, NULL);
		struct path_table *table = path_table_new(1, NULL);
		struct stack_paths *paths = stack_paths_new(table);
		CLEANUP(path_tree_freep) struct path_tree *tree = NULL;
		struct function_tree *out = NULL;
		struct path_sums by_path;
		struct error err = { 0 };

		if (path_tree_new(arena, &tree, &err) < 0 ||
		    stack_paths_of_sums(paths, table, &sums, arena, &by_path, &err) < 0 ||
		    path_tree_add(tree, &by_path, 1, &err) < 0 ||
		    path_tree_add(tree, &by_path, 2, &err) < 0 ||
		    path_tree_finish(tree, &(struct path_cut){ .max_nodes = 3 }, &out, &err) < 0) {
			assert_int_equal(err.code, ERROR_TOO_LARGE);
		} else {
			assert_int_equal(out->nodes[0].total, 12);
			done++;
		}
		stack_paths_release(paths);
		path_table_release(table);
	}
	assert_true(done > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_merge_by_name_over_windows),
		cmocka_unit_test(the_cut_folds_as_the_worked_example),
		cmocka_unit_test(a_part_is_divided_once_over_windows),
		cmocka_unit_test(nothing_added_is_an_empty_tree),
		cmocka_unit_test(sums_wrap_around),
		cmocka_unit_test(any_merge_is_what_a_walk_over_each_stack_gives),
		cmocka_unit_test(a_full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
