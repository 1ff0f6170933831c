/*
 * GPU memory over time: what was live at each step, by something, and what happened.
 *
 * Shape    a step's value is what was live at that moment: the samples at each node's
 *          newest tick at or before it (own API specification), so that it equals the
 *          process list of that moment to the byte. Groups are ordered by their sum over
 *          time; what is not among the first `top` is added up in `other`. Steps at
 *          which no node of a group is heard of are gaps.
 * Units    bytes; milliseconds on the grid of multiples of the step.
 * Errors   ERROR_INVALID for a grid of too many steps; the store's; arena_error().
 * Threads  none.
 * Source   own API specification; collector specification, 3.6
 */
#pragma once

#include "server/query/gpu_groups.h"
#include "server/query/gpu_markers.h"

#define GPU_STEPS_MAX 11000 /* values of one group; as Prometheus has it */

struct gpu_timeline_options {
	struct str by;   /* "process", or the name of a label */
	int64_t step_ms; /* >= 1 */
	size_t top;
};

struct gpu_timeline {
	int64_t start_ms;
	int64_t step_ms;
	size_t step_count;
	int64_t capacity_bytes; /* of all devices that are told of, or GPU_GAP */
	struct gpu_lines lines;
	struct gpu_marker_list markers;
};

/* The steps in the question's range; an error when there are too many. */
int gpu_timeline_steps(const struct gpu_question *question, int64_t step_ms, int64_t *out_start_ms,
                       size_t *out_count, struct error *err);

int gpu_timeline_make(const struct gpu_question *question,
                      const struct gpu_timeline_options *options, struct gpu_timeline *out,
                      struct error *err);
