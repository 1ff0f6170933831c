/*
 * Series of live bytes, grouped by process or label, as values on a grid.
 *
 * Shape    profiles' totals go in, in any order; lines come out, largest sum over time
 *          first. A value is what was live at its step: the profiles at each node's
 *          newest tick at or before it.
 * Units    bytes.
 * Errors   arena_error().
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "server/query/gpu_cells.h"
#include "server/query/gpu_roster.h"
#include "server/query/gpu_ticks.h"

#define GPU_GAP INT64_MIN /* as a value: nobody knows */

struct gpu_line {
	struct str key;          /* of a process its id; may be empty */
	struct label_set labels; /* of a process all, else the one label */
	int64_t *values;
};

struct gpu_lines {
	int64_t *total;
	struct gpu_line *items;
	size_t count;
	int64_t *other; /* total less the lines */
};

struct gpu_group_series; /* the profiles of one series */
struct gpu_group;

struct gpu_groups {
	struct arena *arena;
	struct str by; /* "process", or the name of a label */
	const struct gpu_grid *grid;

	struct intern series_ids;
	struct gpu_group_series *series;
	size_t series_capacity;
	struct intern group_ids;
	struct gpu_group *groups;
	size_t group_capacity;
};

/* What is given must outlive the groups. */
void gpu_groups_init(struct gpu_groups *groups, struct str by, const struct gpu_grid *grid,
                     struct arena *arena);

/* One profile of live bytes that counts. */
int gpu_groups_add(struct gpu_groups *groups, const struct gpu_roster *roster,
                   const struct gpu_role *role, const struct store_point *point, struct error *err);

/* The lines of the first `top` groups, once; the ticks are finished. */
int gpu_groups_finish(struct gpu_groups *groups, const struct gpu_roster *roster,
                      const struct gpu_ticks *ticks, size_t top, struct gpu_lines *out,
                      struct error *err);
