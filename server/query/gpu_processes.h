/*
 * The processes that hold, or held, GPU memory: a row each.
 *
 * Shape    what was live at a time is the samples at its node's newest tick at or before
 *          it; where that is older than two intervals nobody knows (PROCESS_UNSEEN). Sums
 *          are of the ticks behind the range's start up to the last one: allocated, freed
 *          (= allocated - change of what is live), grown, failed. Memory of the host
 *          counts in by_class only, unless the selector speaks of cuda_class.
 * Units    bytes, milliseconds; what does not fit an int64 stays at its end.
 * Errors   the store's; arena_error().
 * Threads  none.
 * Source   own API specification; collector specification, 3.2 to 3.6
 */
#pragma once

#include "server/query/gpu_devices.h"
#include "server/query/gpu_tally.h"

struct gpu_process_row {
	struct str id; /* hostname:pid:first_ms */
	struct label_set labels;
	enum gpu_process_state state;
	int64_t first_ms;
	int64_t last_ms;
	int64_t live_bytes; /* this up to growth_bytes: not known of GPU_PROCESS_UNSEEN */
	int64_t live_blocks;
	struct gpu_shares by_class;
	struct gpu_shares by_gpu;
	/* the next two; not when its node was not heard of at the range's start either */
	bool knows_change;
	int64_t freed_bytes;
	int64_t growth_bytes;
	int64_t peak_bytes;
	int64_t peak_ms; /* 0: there was none */
	int64_t alloc_bytes;
	int64_t alloc_calls;
	int64_t failures;
};

enum gpu_process_order {
	GPU_PROCESS_BY_LIVE,
	GPU_PROCESS_BY_PEAK,
	GPU_PROCESS_BY_ALLOC,
	GPU_PROCESS_BY_FREED,
	GPU_PROCESS_BY_GROWTH,
	GPU_PROCESS_BY_FAILURES,
	GPU_PROCESS_BY_FIRST,
	GPU_PROCESS_BY_LAST,
};

struct gpu_process_list {
	bool any;                     /* there is a tick at all */
	int64_t tick_ms;              /* the newest of all nodes */
	int64_t interval_ms;          /* of the node that has it */
	struct gpu_process_row *rows; /* largest first; equal ones by id */
	size_t count;
	struct gpu_devices devices; /* at the newest tick of their node */
};

/* The state at the end of the question's range; at most `limit` rows. */
int gpu_processes_list(const struct gpu_question *question, enum gpu_process_order order,
                       size_t limit, struct gpu_process_list *out, struct error *err);
