#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profile/stack_paths.h"
#include "tests/unit/profile/symbols_fixture.h"

#define ARENA_BYTES ((size_t)4 << 20)

/* "main;work" of a path. */
static void path_text(const struct path_table *table, uint32_t id, char *out, size_t size)
{
	const struct paths paths = path_table_view(table);
	struct str names[16];
	size_t count = 0;

	out[0] = '\0';
	for (; id != 0; id = SYMBOLS_AT(paths.paths, id)->parent)
		names[count++] = *SYMBOLS_AT(paths.names, SYMBOLS_AT(paths.paths, id)->name);
	while (count > 0) {
		const size_t length = strlen(out);

		count--;
		(void)snprintf(out + length, size - length, "%s%.*s", length ? ";" : "",
		               STR_ARGS(names[count]));
	}
}

static void functions_of_one_name_are_one_path(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct path_table *table = path_table_new(1, NULL);
	struct stack_paths *paths = stack_paths_new(table);
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
	const struct stack_sums sums = { &f->symbols, 4, stacks, (int64_t[]){ 1, 2 }, 2 };
	struct path_sums found;
	struct error err;

	(void)state;
	assert_int_equal(stack_paths_of_sums(paths, table, &sums, arena, &found, &err), 0);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.part, 4);
	assert_ptr_equal(found.table, table);
	assert_int_equal(found.paths[0], found.paths[1]);
	assert_int_equal(found.sums[0], 1);
	assert_int_equal(found.sums[1], 2);
	assert_int_equal(path_table_count(table), 2);
	stack_paths_release(paths);
	path_table_release(table);
}

static void inlined_lines_and_bare_locations_are_frames(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct path_table *table = path_table_new(1, NULL);
	struct stack_paths *paths = stack_paths_new(table);
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
		fixture_stack(f, outer, fixture_location(f, lib, 17, lines, 1)),
	};
	static const char *const expected[] = {
		"outer;in1;in2",     "outer;in1;in2;libcuda.so.1!0x7f0000001234",
		"unknown!0x3abc",    "unknown!0x0",
		"outer;in1;in2;in2",
	};
	const struct stack_sums sums = { &f->symbols, 0, stacks, (int64_t[]){ 1, 2, 4, 8, 16 }, 5 };
	struct path_sums found;
	struct error err;

	(void)state;
	assert_int_equal(stack_paths_of_sums(paths, table, &sums, arena, &found, &err), 0);
	assert_int_equal(found.count, 5);
	for (size_t i = 0; i < found.count; i++) {
		char text[256];

		path_text(table, found.paths[i], text, sizeof(text));
		assert_string_equal(text, expected[i]);
		assert_int_equal(found.sums[i], INT64_C(1) << i);
	}
	stack_paths_release(paths);
	path_table_release(table);
}

/* What is not above 0 is left out, and makes no paths. */
static void sums_below_1_are_left_out(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct path_table *table = path_table_new(1, NULL);
	struct stack_paths *paths = stack_paths_new(table);
	const uint32_t stacks[] = { fixture_path(f, "a"), fixture_path(f, "b"),
		                    fixture_path(f, "c") };
	const struct stack_sums sums = { &f->symbols, 0, stacks, (int64_t[]){ 0, -1, 1 }, 3 };
	struct path_sums found;
	struct error err;

	(void)state;
	assert_int_equal(stack_paths_of_sums(paths, table, &sums, arena, &found, &err), 0);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.paths[0], path_table_find(table, (struct str[]){ STR("c") }, 1));
	assert_int_equal(path_table_find_name(table, STR("a")), PATH_NONE);
	assert_int_equal(path_table_count(table), 2);
	stack_paths_release(paths);
	path_table_release(table);
}

static void a_table_without_room_is_an_error_and_the_next_one_serves(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const uint32_t stack = fixture_path(f, "a;b");
	const struct stack_sums sums = { &f->symbols, 0, &stack, (int64_t[]){ 1 }, 1 };
	struct budget budget;
	struct path_table *table;
	struct stack_paths *paths;
	struct path_sums found;
	struct error err = { 0 };

	(void)state;
	budget_init(&budget, 1000);
	table = path_table_new(1, &budget);
	paths = stack_paths_new(table);
	assert_int_equal(stack_paths_of_sums(paths, table, &sums, arena, &found, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	stack_paths_release(paths);
	path_table_release(table);
	assert_int_equal(budget_used(&budget), 0);

	budget_init(&budget, (size_t)1 << 20);
	table = path_table_new(2, &budget);
	paths = stack_paths_new(table);
	assert_int_equal(stack_paths_of_sums(paths, table, &sums, arena, &found, &err), 0);
	assert_int_equal(budget_used(&budget), path_table_bytes(table));
	stack_paths_release(paths);
	path_table_release(table);
	assert_int_equal(budget_used(&budget), 0);
}

/* ---- many at once ---- */

#define THREADS 4
#define DEPTH   100
#define ROUNDS  40

struct asking {
	struct path_table *table;
	struct stack_paths *paths;
	const struct symbols_fixture *f;
	uint32_t of_stack[DEPTH + 1];
	bool failed;
};

/* Asks for deeper and deeper stacks, some again. */
static void *ask(void *context)
{
	struct asking *asking = context;
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);

	for (uint32_t round = 0; round < ROUNDS; round++) {
		const uint32_t stacks[] = { 1 + (round * 7) % DEPTH, DEPTH / 2,
			                    1 + (round * 13) % DEPTH };
		const struct stack_sums sums = { &asking->f->symbols, 0, stacks,
			                         (int64_t[]){ 1, 1, 1 }, 3 };
		struct path_sums found;
		struct error err;

		arena_reset(arena);
		if (stack_paths_of_sums(asking->paths, asking->table, &sums, arena, &found, &err) <
		    0) {
			asking->failed = true;
			return NULL;
		}
		for (size_t i = 0; i < found.count; i++)
			asking->of_stack[stacks[i]] = found.paths[i];
	}
	return NULL;
}

static void threads_agree_on_paths(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	struct path_table *table = path_table_new(1, NULL);
	struct stack_paths *paths = stack_paths_new(table);
	struct asking asking[THREADS];
	pthread_t threads[THREADS];
	uint32_t stack = 0;

	(void)state;
	for (int i = 0; i < DEPTH; i++) {
		stack = fixture_stack(f, stack,
		                      fixture_location(f, PROFILE_NONE, (uint64_t)i, NULL, 0));
		assert_int_equal(stack, i + 1);
	}
	for (size_t i = 0; i < THREADS; i++) {
		asking[i] = (struct asking){ table, paths, f, { 0 }, false };
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &asking[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (size_t i = 0; i < THREADS; i++) {
		assert_false(asking[i].failed);
		assert_memory_equal(asking[i].of_stack, asking[0].of_stack,
		                    sizeof(asking[0].of_stack));
	}
	/* a chain: each stack has one path, and that one as many above it as the stack */
	for (uint32_t i = 1; i <= DEPTH; i++) {
		const struct paths view = path_table_view(table);
		uint32_t depth = 0;

		for (uint32_t at = asking[0].of_stack[i]; at != 0;
		     at = SYMBOLS_AT(view.paths, at)->parent)
			depth++;
		assert_true(asking[0].of_stack[i] == 0 || depth == i);
	}
	stack_paths_release(paths);
	path_table_release(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_one_name_are_one_path),
		cmocka_unit_test(inlined_lines_and_bare_locations_are_frames),
		cmocka_unit_test(sums_below_1_are_left_out),
		cmocka_unit_test(a_table_without_room_is_an_error_and_the_next_one_serves),
		cmocka_unit_test(threads_agree_on_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
