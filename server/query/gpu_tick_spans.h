/*
 * Which ticks of each node tell of a range: its start, its end, and the times before the
 * end that are looked at for the least. In pieces that are not too long.
 *
 * Shape    pieces come in the order of time, each tick in one of them, and of a node at
 *          most GPU_PIECE_TICKS in one. A tick that only tells of the start has a piece of
 *          its own where it lies before all others.
 * Units    nanoseconds; ticks by their index in gpu_tick_list.
 * Errors   arena_error().
 * Threads  none.
 */
#pragma once

#include "server/query/gpu_ticks.h"
#include "storage/store.h"

#define GPU_PIECE_TICKS   64
#define GPU_LOOKBACKS_MAX 4

struct gpu_tick_span {
	bool has_start; /* the node was heard of then */
	bool has_end;
	size_t start; /* tick */
	size_t end;
	size_t from[GPU_LOOKBACKS_MAX]; /* first tick that counts */
	size_t stop;                    /* behind the last tick at or before the end */
	size_t next;                    /* that no piece had yet */
	size_t first;                   /* of the piece at hand; one behind its last: */
	size_t past;
};

struct gpu_tick_spans {
	const struct gpu_ticks *ticks;
	struct gpu_tick_span *nodes;
	size_t node_count;
	bool has_begun;
};

/* Lookbacks are times before the end, the longest last. The ticks are finished. */
int gpu_tick_spans_init(struct gpu_tick_spans *spans, const struct gpu_ticks *ticks,
                        struct store_range range, const int64_t lookback_ns[GPU_LOOKBACKS_MAX],
                        struct error *err);

/* The next piece, as the range of its ticks; false: there is none any more. */
bool gpu_tick_spans_next(struct gpu_tick_spans *spans, struct store_range *out);

/* Where a time stands in the piece at hand, from 0; -1: it is no tick of it. */
ptrdiff_t gpu_tick_spans_find(const struct gpu_tick_spans *spans, uint32_t node, int64_t time_ns);
