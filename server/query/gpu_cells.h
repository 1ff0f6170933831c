/*
 * A gauge on a grid of steps: of each series the newest profile of each step.
 *
 * Shape    a row a series, as long as from its first step to its last. A time belongs to
 *          the first step at or behind it.
 * Units    nanoseconds.
 * Errors   arena_error().
 * Threads  none.
 */
#pragma once

#include "base/arena.h"

struct gpu_grid {
	int64_t start_ns;
	int64_t step_ns;
	size_t step_count;
};

/* The step that a time belongs to; step_count for one behind the last. */
size_t gpu_grid_step(const struct gpu_grid *grid, int64_t time_ns);

static inline int64_t gpu_grid_time(const struct gpu_grid *grid, size_t step)
{
	return grid->start_ns + (int64_t)step * grid->step_ns;
}

struct gpu_cell {
	int64_t time_ns;
	int64_t value;
	bool is_set;
};

/* Zeroed, it is empty. */
struct gpu_cells {
	struct gpu_cell *cells; /* of the steps first, first + 1, ... */
	size_t first;
	size_t count;
};

/* Keeps the value when it is the newest of its step. */
int gpu_cells_add(struct gpu_cells *row, struct arena *arena, const struct gpu_grid *grid,
                  int64_t time_ns, int64_t value, struct error *err);

/* The value at exactly `time_ns`, or 0. */
int64_t gpu_cells_at(const struct gpu_cells *row, const struct gpu_grid *grid, int64_t time_ns);
