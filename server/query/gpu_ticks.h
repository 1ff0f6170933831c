/*
 * The ticks of nodes: at which times the collector of each has told what was live.
 *
 * Shape    times go in, in any order and any number of times; after gpu_ticks_finish()
 *          they are asked. The interval of a node is the lower median of the distances
 *          between its neighbouring ticks, so that missing ones do not stretch it.
 * Units    nanoseconds.
 * Errors   arena_error().
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "base/clock.h"
#include "profile/intern.h"

#define GPU_INTERVAL_DEFAULT_NS (INT64_C(15) * NS_PER_S) /* -collector.interval */

struct gpu_moment_range {
	int64_t start_ns;
	int64_t step_ns;
	size_t count;
};

struct gpu_tick_list {
	int64_t *times; /* ascending after gpu_ticks_finish() */
	size_t count;
	size_t capacity;
	int64_t interval_ns;
};

/* Zeroed but for the arena, it is empty. */
struct gpu_ticks {
	struct arena *arena;
	struct intern seen; /* (node, time) */
	struct gpu_tick_list *nodes;
	size_t node_capacity;
	size_t node_count;
};

int gpu_ticks_add(struct gpu_ticks *ticks, uint32_t node, int64_t time_ns, struct error *err);

int gpu_ticks_finish(struct gpu_ticks *ticks, struct error *err);

/* The distance between a node's ticks; the default for one with fewer than two. */
int64_t gpu_ticks_interval_ns(const struct gpu_ticks *ticks, uint32_t node);

/* The newest of all; INT64_MIN: there is none. */
int64_t gpu_ticks_newest(const struct gpu_ticks *ticks, uint32_t node);

/* How many ticks of a node lie at or before a time. */
size_t gpu_tick_list_until(const struct gpu_tick_list *list, int64_t at_ns);

/*
 * The newest tick at or before `at_ns`. False: there is none, or it is older than two
 * intervals (a gap).
 */
bool gpu_ticks_at(const struct gpu_ticks *ticks, uint32_t node, int64_t at_ns, int64_t *out_ns);

/* The same for each of `count` moments, `step_ns` apart; `missing` in a gap. */
void gpu_ticks_sample(const struct gpu_ticks *ticks, uint32_t node, struct gpu_moment_range moments,
                      int64_t missing, int64_t *out_ns);
