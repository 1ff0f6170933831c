/*
 * Which stacks have grown: what each held at the start and at the end of a range, and the
 * least that it held in the last minutes and hours before the end.
 *
 * Shape    a state is that of a node's newest tick at or before it (docs/api/gpu.md);
 *          growth is the difference of two. A floor counts every tick of its time and the
 *          one that holds at its beginning, a process that is not there holding nothing:
 *          what is never given back has a floor that rises. Over several nodes each one's
 *          are added up. Stacks that hold nothing at both ends are left out.
 * Units    bytes.
 * Errors   ERROR_NOT_FOUND for a process that is not there; the store's; arena_error().
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "server/query/gpu_question.h"
#include "server/query/gpu_stacks.h"

enum gpu_floor {
	GPU_FLOOR_1M,
	GPU_FLOOR_10M,
	GPU_FLOOR_1H,
	GPU_FLOOR_6H,
	GPU_FLOOR_COUNT,
};

/* "1m", "10m", "1h", "6h". */
const char *gpu_floor_name(enum gpu_floor floor);

#define GPU_GROWTH_UNKNOWN INT64_MIN /* nobody was heard of then */

struct gpu_growth_row {
	struct gpu_stack stack;
	int64_t start_bytes; /* each may be unknown */
	int64_t end_bytes;
	int64_t growth_bytes;
	int64_t floor[GPU_FLOOR_COUNT];
};

struct gpu_growth {
	struct gpu_growth_row *rows; /* most growth first; unknown ones last */
	size_t count;
};

/* Of one process by its id, or with an empty one of all that the question asks for. */
int gpu_growth_list(struct gpu_question *question, struct str process, size_t limit,
                    struct gpu_growth *out, struct error *err);
