#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"

static void memory_is_zeroed_aligned_and_apart(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	unsigned char *before = NULL;

	(void)state;
	for (size_t size = 1; size < 500; size += 7) {
		unsigned char *bytes = arena_alloc(arena, size);

		assert_non_null(bytes);
		assert_int_equal((uintptr_t)bytes % alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(bytes[i], 0);
		memset(bytes, 0xee, size);
		if (before)
			assert_int_equal(before[0], 0xee);
		before = bytes;
	}
	assert_false(arena_overflowed(arena));
}

static void past_its_limit_it_says_null_and_remembers(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(64 << 10, NULL);
	struct error err = { 0 };
	size_t taken = 0;

	(void)state;
	while (arena_alloc(arena, 1000))
		taken += 1000;
	assert_in_range(taken, 32 << 10, 64 << 10);
	assert_true(arena_overflowed(arena));
	assert_int_equal(arena_error(arena, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

static void sizes_that_would_wrap_are_over_the_limit(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	uint32_t *array = NULL;
	size_t capacity = SIZE_MAX / 2;

	(void)state;
	assert_null(arena_alloc(arena, SIZE_MAX));
	assert_null(arena_alloc(arena, SIZE_MAX - 64));
	assert_null(arena_array(arena, SIZE_MAX / 2, 3));
	assert_null(arena_copy(arena, (struct str){ "", SIZE_MAX }).data);
	assert_false(arena_grow(arena, (void **)&array, sizeof(*array), &capacity));
	assert_true(arena_overflowed(arena));
}

static void chunks_count_in_the_budget_and_come_back(void **state)
{
	struct arena *arena;
	struct budget budget;
	struct error err = { 0 };

	(void)state;
	budget_init(&budget, 100 << 10);
	arena = arena_new(SIZE_MAX, &budget);
	assert_non_null(arena_alloc(arena, 50 << 10));
	assert_true(budget_used(&budget) >= 50 << 10);
	assert_null(arena_alloc(arena, 80 << 10));
	assert_int_equal(arena_error(arena, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_true(budget_used(&budget) <= budget.limit);
	arena_free(arena);
	assert_int_equal(budget_used(&budget), 0);
	arena_free(NULL);
}

static void a_branch_counts_as_its_trunk_until_it_ends(void **state)
{
	CLEANUP(arena_freep) struct arena *trunk = arena_new(1 << 20, NULL);
	struct error err = { 0 };
	struct budget budget;
	struct arena *branch;

	(void)state;
	assert_non_null(arena_alloc(trunk, 300 << 10));
	for (int round = 0; round < 3; round++) {
		struct arena *twig;

		branch = arena_branch(trunk);
		twig = arena_branch(branch);
		assert_non_null(arena_alloc(branch, 300 << 10));
		assert_non_null(arena_alloc(twig, 300 << 10));
		/* 900 KiB of 1 MiB are taken, wherever one asks */
		assert_null(arena_alloc(trunk, 200 << 10));
		assert_null(arena_alloc(branch, 200 << 10));
		assert_null(arena_alloc(twig, 200 << 10));
		assert_int_equal(arena_error(twig, &err), -1);
		assert_int_equal(err.code, ERROR_TOO_LARGE);
		assert_non_null(strstr(err.message, "1048576 bytes"));
		arena_free(twig);
		arena_free(branch);
	}
	assert_non_null(arena_alloc(trunk, 600 << 10));
	arena_reset(trunk);
	budget_init(&budget, 100 << 10);
	branch = arena_new(SIZE_MAX, &budget);
	arena_free(arena_branch(branch));
	arena_free(branch);
	assert_int_equal(budget_used(&budget), 0);
}

static void after_a_reset_it_is_as_new(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(64 << 10, NULL);

	(void)state;
	for (int round = 0; round < 5; round++) {
		size_t taken = 0;

		while (arena_alloc(arena, 4096))
			taken += 4096;
		assert_true(taken >= 32 << 10);
		assert_true(arena_overflowed(arena));
		arena_reset(arena);
		assert_false(arena_overflowed(arena));
		assert_int_equal(arena_used(arena), 0);
	}
}

static void the_newest_grows_and_others_move(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	char *first = arena_alloc(arena, 16);
	char *second;

	(void)state;
	memcpy(first, "0123456789abcde", 16);
	second = arena_resize(arena, first, 16, 64);
	assert_memory_equal(second, "0123456789abcde", 16);
	(void)arena_alloc(arena, 16);
	first = arena_resize(arena, second, 64, 128);
	assert_ptr_not_equal(first, second);
	assert_memory_equal(first, "0123456789abcde", 16);
	assert_ptr_equal(arena_resize(arena, first, 128, 20), first);
	assert_non_null(arena_resize(arena, NULL, 0, 10));
}

static void what_is_undone_can_be_had_again(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(300 << 10, NULL);
	const char *kept = arena_copy(arena, STR("kept")).data;
	const size_t used = arena_used(arena);
	void *other;

	(void)state;
	for (int i = 0; i < 10; i++) {
		void *large = arena_alloc_raw(arena, 200 << 10);

		assert_non_null(large);
		arena_undo(arena, large, 200 << 10);
		assert_int_equal(arena_used(arena), used);
	}
	other = arena_alloc_raw(arena, 100);
	(void)arena_alloc_raw(arena, 100);
	arena_undo(arena, other, 100); /* not the newest: stays */
	assert_true(arena_used(arena) >= used + 200);
	arena_undo(arena, NULL, 0);
	assert_string_equal(kept, "kept");
}

static void an_array_grows_element_by_element(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	uint32_t *numbers = NULL;
	size_t count = 0;
	size_t capacity = 0;

	(void)state;
	while (count < 10000) {
		assert_true(ARENA_GROW(arena, numbers, count, capacity));
		numbers[count] = (uint32_t)count;
		count++;
		if (count % 1000 == 0)
			(void)arena_alloc(arena, 8);
	}
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(numbers[i], i);
}

static void room_for_many_comes_at_once(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	uint32_t *array = NULL;
	size_t capacity = 0;

	(void)state;
	assert_true(ARENA_RESERVE(arena, array, 0, 1000, capacity));
	assert_int_equal(capacity, 1000);
	array[999] = 7;
	assert_true(ARENA_RESERVE(arena, array, 1000, 1, capacity));
	assert_int_equal(capacity, 1500);
	assert_int_equal(array[999], 7);
	assert_true(ARENA_RESERVE(arena, array, 1000, 500, capacity));
	assert_int_equal(capacity, 1500);
	assert_false(ARENA_RESERVE(arena, array, 1000, SIZE_MAX - 10, capacity));
	assert_true(arena_overflowed(arena));
	assert_int_equal(capacity, 1500);
}

static void copies_end_with_a_nul(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	const struct str copy = arena_copy(arena, STR("a\0b"));
	const struct str empty = arena_copy(arena, (struct str){ NULL, 0 });
	const struct str printed = arena_printf(arena, "%d-%s", 42, "x");

	(void)state;
	assert_int_equal(copy.length, 3);
	assert_memory_equal(copy.data, "a\0b\0", 4);
	assert_string_equal(empty.data, "");
	assert_true(str_equals(printed, "42-x"));
	assert_string_equal(printed.data, "42-x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
		cmocka_unit_test(past_its_limit_it_says_null_and_remembers),
		cmocka_unit_test(sizes_that_would_wrap_are_over_the_limit),
		cmocka_unit_test(chunks_count_in_the_budget_and_come_back),
		cmocka_unit_test(a_branch_counts_as_its_trunk_until_it_ends),
		cmocka_unit_test(after_a_reset_it_is_as_new),
		cmocka_unit_test(the_newest_grows_and_others_move),
		cmocka_unit_test(what_is_undone_can_be_had_again),
		cmocka_unit_test(an_array_grows_element_by_element),
		cmocka_unit_test(room_for_many_comes_at_once),
		cmocka_unit_test(copies_end_with_a_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
