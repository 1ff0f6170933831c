#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/frame_sandwich.h"
#include "tests/unit/profile/frame_fixture.h"

#define ARENA_BYTES ((size_t)64 << 20)

static const struct frame_path paths[] = {
	{ "main;load;alloc;pool", 8, 0 },
	{ "main;step;alloc", 3, 0 },
	{ "main;step;alloc;grow;alloc;pool", 2, 0 }, /* alloc within itself */
	{ "alloc", 1, 0 },
	{ "main;idle", 100, 0 },
};

static struct frame_sandwich make(struct frame_fixture *f, struct arena *arena, const char *name)
{
	struct frame_sandwich sandwich = { 0 };
	struct error err;

	frame_fixture_of(f, arena, paths, ARRAY_LENGTH(paths));
	assert_int_equal(frame_sandwich_make(f->tree, &f->table, f->ranks, str_of(name), &sandwich,
	                                     &err),
	                 0);
	return sandwich;
}

static void assert_node(const struct frame_tree *tree, const char *path, int64_t self,
                        int64_t total)
{
	const uint32_t node = frame_fixture_find(tree, path);

	assert_int_not_equal(node, FRAME_NONE);
	assert_int_equal(tree->nodes[node].sides[FRAME_LEFT].self, self);
	assert_int_equal(tree->nodes[node].sides[FRAME_LEFT].total, total);
}

static void callees_are_merged_over_all_places(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	const struct frame_sandwich sandwich = make(&f, arena, "alloc");

	(void)state;
	assert_true(sandwich.is_found);
	assert_true(str_equals(f.frames->frames[sandwich.frame].name, "alloc"));
	assert_int_equal(sandwich.sides[FRAME_LEFT].total, 14); /* 8 + 3 + 2 + 1: once each */
	assert_int_equal(sandwich.sides[FRAME_LEFT].self, 4);   /* 3 + 1 */
	assert_node(sandwich.callees, "alloc", 4, 14);
	assert_node(sandwich.callees, "alloc;pool", 8, 8);
	assert_node(sandwich.callees, "alloc;grow;alloc;pool", 2, 2);
	assert_int_equal(frame_fixture_find(sandwich.callees, "idle"), FRAME_NONE);
	frame_fixture_free(&f);
}

static void callers_are_turned_around(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;
	const struct frame_sandwich sandwich = make(&f, arena, "alloc");

	(void)state;
	assert_node(sandwich.callers, "alloc", 1, 14); /* 1 came from nobody */
	assert_node(sandwich.callers, "alloc;load", 0, 8);
	assert_node(sandwich.callers, "alloc;load;main", 8, 8);
	assert_node(sandwich.callers, "alloc;step;main", 5, 5);
	/* the inner place of a recursion is no place */
	assert_int_equal(frame_fixture_find(sandwich.callers, "alloc;grow"), FRAME_NONE);
	frame_fixture_free(&f);
}

static void a_name_that_is_nowhere_is_not_found(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture f;

	(void)state;
	assert_false(make(&f, arena, "free").is_found);
	frame_fixture_free(&f);
	assert_false(make(&f, arena, "").is_found); /* nor is it the root */
	frame_fixture_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callees_are_merged_over_all_places),
		cmocka_unit_test(callers_are_turned_around),
		cmocka_unit_test(a_name_that_is_nowhere_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
