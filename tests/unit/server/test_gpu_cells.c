#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/query/gpu_cells.h"

#define LIMIT ((size_t)8 << 20)

static const struct gpu_grid grid = { .start_ns = 1000, .step_ns = 100, .step_count = 50 };

static void a_time_belongs_to_the_first_step_behind_it(void **state)
{
	static const struct {
		int64_t time_ns;
		size_t step;
	} cases[] = {
		{ INT64_MIN / 2, 0 }, { 999, 0 },   { 1000, 0 },  { 1001, 1 },       { 1100, 1 },
		{ 1101, 2 },          { 5900, 49 }, { 5901, 50 }, { INT64_MAX, 50 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(gpu_grid_step(&grid, cases[i].time_ns), cases[i].step);
	assert_int_equal(gpu_grid_time(&grid, 49), 5900);
}

static void the_newest_of_a_step_stays(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct gpu_cells row = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(gpu_cells_add(&row, arena, &grid, 1150, 7, &err), 0);
	assert_int_equal(gpu_cells_add(&row, arena, &grid, 1190, 8, &err), 0);
	assert_int_equal(gpu_cells_add(&row, arena, &grid, 1120, 9, &err), 0);
	assert_int_equal(gpu_cells_at(&row, &grid, 1190), 8);
	/* what is no longer there, or never was, is nothing */
	assert_int_equal(gpu_cells_at(&row, &grid, 1150), 0);
	assert_int_equal(gpu_cells_at(&row, &grid, 1191), 0);
	assert_int_equal(gpu_cells_at(&row, &grid, 5000), 0);
	/* two profiles of one series and time */
	assert_int_equal(gpu_cells_add(&row, arena, &grid, 1190, 2, &err), 0);
	assert_int_equal(gpu_cells_at(&row, &grid, 1190), 10);
	assert_int_equal(gpu_cells_add(&row, arena, &grid, 1190, INT64_MAX, &err), 0);
	assert_int_equal(gpu_cells_at(&row, &grid, 1190), INT64_MAX);
}

/* Every order of times gives the same row: an array of all steps is the model. */
static void rows_grow_in_both_directions(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		int64_t times[50] = { 0 };
		int64_t values[50] = { 0 };
		struct gpu_cells row = { 0 };
		struct error err = { 0 };

		for (int i = 0; i < 30; i++) {
			random = random * 6364136223846793005U + 1442695040888963407U;
			/* no two of one time: those are added up */
			const int64_t time_ns = 1001 + (int64_t)(random >> 33) % 4800 / 30 * 30 + i;
			const size_t step = gpu_grid_step(&grid, time_ns);

			assert_int_equal(gpu_cells_add(&row, arena, &grid, time_ns, i + 1, &err),
			                 0);
			if (time_ns > times[step]) {
				times[step] = time_ns;
				values[step] = i + 1;
			}
		}
		for (size_t step = 0; step < 50; step++)
			if (times[step])
				assert_int_equal(gpu_cells_at(&row, &grid, times[step]),
				                 values[step]);
	}
}

static void what_lies_behind_the_grid_is_left_out(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct gpu_cells row = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(gpu_cells_add(&row, arena, &grid, 5901, 1, &err), 0);
	assert_int_equal(row.count, 0);
	assert_int_equal(gpu_cells_at(&row, &grid, 5901), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_belongs_to_the_first_step_behind_it),
		cmocka_unit_test(the_newest_of_a_step_stays),
		cmocka_unit_test(rows_grow_in_both_directions),
		cmocka_unit_test(what_lies_behind_the_grid_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
