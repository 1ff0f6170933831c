/*
 * The runs of a block's detail: what a stack has in a group.
 *
 * Shape    the rows of a stack are by profile, and profiles by group, so that a run is the
 *          rows between two borders of groups. Runs are numbered as rows are.
 * Errors   ERROR_CORRUPT when there are not as many as was said; arena_error() when the
 *          arena is full.
 * Threads  none; what was found may be read by many.
 */
#pragma once

#include "storage/block_presence.h"

/* How the profiles of a block belong to groups. */
struct block_groups {
	uint32_t count;
	const uint32_t *firsts; /* count + 1 */
};

struct block_runs {
	uint32_t count;
	const uint32_t *firsts;   /* count + 1: of rows */
	const uint32_t *of_lists; /* list_count + 1: the runs of each list of profiles */
};

/* Of lists of profiles as they are written: firsts (list_count + 1) and members. */
int block_runs_make(const struct block_groups *groups, uint32_t list_count, const uint32_t *firsts,
                    const uint32_t *members, struct arena *arena, struct block_runs *out,
                    struct error *err);

/* Of lists of profiles as they are read; there should be `count`. */
int block_runs_find(const struct block_groups *groups, const struct block_presence *presence,
                    uint32_t count, struct arena *arena, struct block_runs *out, struct error *err);
