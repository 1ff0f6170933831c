/*
 * Sums of each process over a range: what it held at both ends, and what it did between.
 *
 * Shape    profiles of what is asked for go in, in any order, each with the times that its
 *          node stands at. Memory of the host counts in by_class only, unless the question
 *          speaks of classes (gpu_role.is_counted).
 * Units    bytes, nanoseconds; what does not fit an int64 stays at its end.
 * Errors   arena_error().
 * Threads  none.
 * Source   own API specification; collector specification, 3.2 to 3.6
 */
#pragma once

#include "server/query/gpu_moments.h"

enum gpu_process_state {
	GPU_PROCESS_RUNNING,
	GPU_PROCESS_LOCKED,       /* it runs, and its calls wait */
	GPU_PROCESS_CHECKPOINTED, /* and its memory is on the host */
	GPU_PROCESS_EXITED,       /* its node goes on without it */
	GPU_PROCESS_UNSEEN,       /* its node is not heard of */
};

struct gpu_share {
	struct str name;
	int64_t bytes;
};

/* By name. */
struct gpu_shares {
	struct gpu_share *items;
	size_t count;
	size_t capacity;
};

/* What a node's profiles are compared with. */
struct gpu_node_times {
	bool is_heard;     /* tick_ns is there and fresh */
	bool has_base;     /* base_ns is there and fresh */
	int64_t tick_ns;   /* the state of things at the end */
	int64_t base_ns;   /* and at the start */
	int64_t newest_ns; /* of all ticks that were read, fresh or not */
};

struct gpu_tally {
	int64_t live_bytes;
	int64_t live_blocks;
	int64_t base_bytes;
	int64_t alloc_bytes;
	int64_t alloc_calls;
	int64_t failures;
	enum gpu_process_state state; /* of one that runs */
	struct gpu_shares by_class;
	struct gpu_shares by_gpu;
};

struct gpu_tallies {
	struct arena *arena;
	int64_t start_ns;        /* of the range */
	struct gpu_tally *items; /* by process */
	size_t capacity;
	size_t count;
	struct gpu_moments moments; /* within the range */
};

void gpu_tallies_init(struct gpu_tallies *tallies, struct arena *arena, int64_t start_ns);

/* A profile of a process; of one that is not asked for only that there is one. */
int gpu_tallies_add(struct gpu_tallies *tallies, const struct gpu_node_times *node,
                    const struct gpu_role *role, const struct store_point *point,
                    struct error *err);

int64_t gpu_tally_growth(const struct gpu_tally *tally);

/* Never negative, as calls that nobody saw, in a gap, would make it. */
int64_t gpu_tally_freed(const struct gpu_tally *tally);
