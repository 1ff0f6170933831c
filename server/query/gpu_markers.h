/*
 * What happened to processes in a range: out of memory, start, exit, highest point.
 *
 * Shape    ordered by time. When there are more than GPU_MARKERS_MAX, those stay that
 *          tell most: out of memory first, then by bytes.
 * Units    bytes, milliseconds.
 * Errors   arena_error().
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "base/arena.h"

#define GPU_MARKERS_MAX 1000 /* what a picture can show, and more: a guess */

enum gpu_marker_kind {
	GPU_MARKER_OOM,   /* the bytes that were wanted */
	GPU_MARKER_START, /* the bytes at the first tick */
	GPU_MARKER_EXIT,  /* the bytes at the last tick */
	GPU_MARKER_PEAK,  /* the bytes at the highest point of the range */
};

struct gpu_marker {
	int64_t time_ms;
	enum gpu_marker_kind kind;
	uint32_t number;    /* of the process in its roster */
	struct str process; /* its id; filled when it is known */
	int64_t bytes;
};

struct gpu_marker_list {
	struct gpu_marker *items;
	size_t count;
	size_t capacity;
};

/* "oom", "start", "exit", "peak". */
const char *gpu_marker_kind_name(enum gpu_marker_kind kind);

int gpu_marker_list_add(struct gpu_marker_list *list, struct arena *arena,
                        const struct gpu_marker *marker, struct error *err);

/* Cuts to GPU_MARKERS_MAX and orders by time. */
void gpu_marker_list_finish(struct gpu_marker_list *list);
