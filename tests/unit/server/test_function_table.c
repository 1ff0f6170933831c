#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/command/function_table.h"

#define ARENA_SIZE (size_t)(1024UL * 1024)

static const struct function_row *find(const struct function_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (str_equals(table->rows[i].name, name))
			return &table->rows[i];
	return NULL;
}

static void add(struct function_tree *tree, const char *stack, int64_t value)
{
	struct str rest = str_of(stack);
	struct str name;
	uint32_t node = 0;

	while (str_split(&rest, ';', &name))
		node = function_tree_child(tree, node, name);
	tree->nodes[node].self += value;
}

static struct function_tree *tree_of(struct arena *arena)
{
	struct function_tree *tree = NULL;
	struct error err = { 0 };

	assert_int_equal(function_tree_new(arena, &tree, &err), 0);
	return tree;
}

static void a_function_that_calls_itself_counts_once_in_its_total(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	struct function_tree *tree = tree_of(arena);
	struct function_table table;
	struct error err = { 0 };

	(void)state;
	add(tree, "main;walk;walk;walk", 5);
	add(tree, "main;walk;read;walk", 2);
	add(tree, "main;walk", 1);
	add(tree, "main", 3);
	assert_int_equal(function_tree_finish(tree, &err), 0);
	assert_int_equal(function_table_make(tree, FUNCTION_TABLE_BY_SELF, arena, &table, &err), 0);
	assert_int_equal(table.total, 11);
	assert_int_equal(table.count, 3);
	assert_int_equal(find(&table, "walk")->self, 8);
	assert_int_equal(find(&table, "walk")->total, 8);
	assert_int_equal(find(&table, "read")->total, 2);
	assert_int_equal(find(&table, "main")->self, 3);
	assert_int_equal(find(&table, "main")->total, 11);
	assert_true(str_equals(table.rows[0].name, "walk"));
}

static void totals_may_order_the_rows(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	struct function_tree *tree = tree_of(arena);
	struct function_table table;
	struct error err = { 0 };

	(void)state;
	add(tree, "main;b", 4);
	add(tree, "main;a", 4);
	assert_int_equal(function_tree_finish(tree, &err), 0);
	assert_int_equal(function_table_make(tree, FUNCTION_TABLE_BY_TOTAL, arena, &table, &err),
	                 0);
	assert_true(str_equals(table.rows[0].name, "main"));
	assert_true(str_equals(table.rows[1].name, "a"));
	assert_true(str_equals(table.rows[2].name, "b"));
}

static void an_empty_tree_has_no_rows(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	struct function_tree *tree = NULL;
	const struct profile nothing = { 0 };
	struct function_table table;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(function_tree_of_profile(&nothing, 0, arena, &tree, &err), 0);
	assert_int_equal(function_table_make(tree, FUNCTION_TABLE_BY_SELF, arena, &table, &err), 0);
	assert_int_equal(table.count, 0);
	assert_int_equal(table.total, 0);
}

/* main calls work, which has helper inlined; and an address of libc without symbols. */
static void inlined_calls_are_frames_and_addresses_have_names(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	struct str strings[] = { STR(""), STR("main"), STR("work"), STR("helper"),
		                 STR("/usr/lib/libc.so.6") };
	struct profile_value_type types[] = { { 0, 0 } };
	struct profile_mapping mappings[] = { { .file = 4 } };
	struct profile_function functions[] = { { .name = 1 }, { .name = 2 }, { .name = 3 } };
	struct profile_line lines[] = { { 0, 1 }, { 2, 7 }, { 1, 9 } };
	struct profile_location locations[] = {
		{ .mapping = PROFILE_NONE, .first_line = 0, .line_count = 1 },
		{ .mapping = PROFILE_NONE, .first_line = 1, .line_count = 2 },
		{ .address = 0xbeef, .mapping = 0 },
		{ .address = 0x10, .mapping = PROFILE_NONE },
	};
	uint32_t stacks[] = { 1, 0, 2, 0, 3 };
	struct profile_sample samples[] = {
		{ .first_frame = 0, .depth = 2 },
		{ .first_frame = 2, .depth = 2 },
		{ .first_frame = 4, .depth = 1 },
	};
	int64_t values[] = { 7, 5, 1 };
	const struct profile profile = {
		.strings = strings,
		.sample_types = types,
		.mappings = mappings,
		.functions = functions,
		.lines = lines,
		.locations = locations,
		.stacks = stacks,
		.samples = samples,
		.values = values,
		.string_count = 5,
		.sample_type_count = 1,
		.mapping_count = 1,
		.function_count = 3,
		.line_count = 3,
		.location_count = 4,
		.stack_length = 5,
		.sample_count = 3,
	};
	struct function_tree *tree = NULL;
	struct function_table table;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(function_tree_of_profile(&profile, 0, arena, &tree, &err), 0);
	assert_int_equal(function_table_make(tree, FUNCTION_TABLE_BY_SELF, arena, &table, &err), 0);
	assert_int_equal(find(&table, "helper")->self, 7);
	assert_int_equal(find(&table, "work")->self, 0);
	assert_int_equal(find(&table, "work")->total, 7);
	assert_int_equal(find(&table, "main")->total, 12);
	assert_int_equal(find(&table, "libc.so.6!0xbeef")->self, 5);
	assert_int_equal(find(&table, "unknown!0x10")->self, 1);
	assert_int_equal(function_tree_of_profile(&profile, 1, arena, &tree, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

static void the_largest_change_comes_first_whatever_its_sign(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	struct function_row left[] = { { STR("gone"), 50, 50 },
		                       { STR("same"), 9, 9 },
		                       { STR("less"), 5, 5 } };
	struct function_row right[] = { { STR("new"), 20, 20 },
		                        { STR("same"), 9, 9 },
		                        { STR("less"), 1, 1 } };
	const struct function_table before = { left, 3, 64 };
	const struct function_table after = { right, 3, 30 };
	static const struct {
		const char *name;
		int64_t before;
		int64_t after;
	} wanted[] = { { "gone", 50, 0 }, { "new", 0, 20 }, { "less", 5, 1 }, { "same", 9, 9 } };
	struct function_changes changes;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(function_changes_make(&before, &after, FUNCTION_TABLE_BY_SELF, arena,
	                                       &changes, &err),
	                 0);
	assert_int_equal(changes.count, 4);
	for (size_t i = 0; i < changes.count; i++) {
		assert_true(str_equals(changes.rows[i].name, wanted[i].name));
		assert_int_equal(changes.rows[i].before.self, wanted[i].before);
		assert_int_equal(changes.rows[i].after.self, wanted[i].after);
	}
	assert_int_equal(changes.total_before, 64);
	assert_int_equal(changes.total_after, 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_that_calls_itself_counts_once_in_its_total),
		cmocka_unit_test(totals_may_order_the_rows),
		cmocka_unit_test(an_empty_tree_has_no_rows),
		cmocka_unit_test(inlined_calls_are_frames_and_addresses_have_names),
		cmocka_unit_test(the_largest_change_comes_first_whatever_its_sign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
