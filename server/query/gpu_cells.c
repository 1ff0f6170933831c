#include "server/query/gpu_cells.h"

#include <string.h>

#define FIRST_CELLS 16

size_t gpu_grid_step(const struct gpu_grid *grid, int64_t time_ns)
{
	const int64_t behind = time_ns - grid->start_ns;
	int64_t step;

	if (behind <= 0)
		return 0;
	step = behind / grid->step_ns + (behind % grid->step_ns != 0);
	return (uint64_t)step < grid->step_count ? (size_t)step : grid->step_count;
}

/* Makes the row reach from `first` for `count` steps, which hold what it has now. */
static int stretch(struct gpu_cells *row, struct arena *arena, size_t first, size_t count,
                   struct error *err)
{
	struct gpu_cell *cells = arena_array(arena, count, sizeof(*cells));

	if (!cells)
		return arena_error(arena, err);
	if (row->count > 0)
		memcpy(&cells[row->first - first], row->cells, row->count * sizeof(*cells));
	row->cells = cells;
	row->first = first;
	row->count = count;
	return 0;
}

/* Doubles in the direction that is needed, within the grid. */
static int reach(struct gpu_cells *row, struct arena *arena, const struct gpu_grid *grid,
                 size_t step, struct error *err)
{
	const size_t end = row->first + row->count;
	size_t first = row->first;
	size_t last_end = end;

	if (row->count == 0) {
		first = step;
		last_end = step + FIRST_CELLS;
	} else if (step < row->first) {
		first = step > row->count ? step - row->count : 0;
	} else if (step >= end) {
		last_end = step + 1 + row->count;
	} else {
		return 0;
	}
	if (last_end > grid->step_count)
		last_end = grid->step_count;
	return stretch(row, arena, first, last_end - first, err);
}

int gpu_cells_add(struct gpu_cells *row, struct arena *arena, const struct gpu_grid *grid,
                  int64_t time_ns, int64_t value, struct error *err)
{
	const size_t step = gpu_grid_step(grid, time_ns);
	struct gpu_cell *cell;

	if (step >= grid->step_count)
		return 0;
	if (reach(row, arena, grid, step, err) < 0)
		return -1;
	cell = &row->cells[step - row->first];
	if (!cell->is_set || time_ns > cell->time_ns)
		*cell = (struct gpu_cell){ time_ns, value, true };
	else if (time_ns == cell->time_ns &&
	         __builtin_add_overflow(cell->value, value, &cell->value))
		cell->value = value < 0 ? INT64_MIN : INT64_MAX;
	return 0;
}

int64_t gpu_cells_at(const struct gpu_cells *row, const struct gpu_grid *grid, int64_t time_ns)
{
	const size_t step = gpu_grid_step(grid, time_ns);
	const struct gpu_cell *cell;

	if (step < row->first || step - row->first >= row->count)
		return 0;
	cell = &row->cells[step - row->first];
	return cell->is_set && cell->time_ns == time_ns ? cell->value : 0;
}
