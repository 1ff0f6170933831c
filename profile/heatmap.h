/*
 * Values over time in cells: SelectHeatmap.
 *
 * Shape    points go in, in any order; per group slots of 20 buckets come out (all share
 *          one y axis). Points of one group with equal time and id are one point, their
 *          values added. A slot stands at its right edge; edges count from start_ms.
 *          Groups come in the order of their labels, or by their number of points when
 *          the limit cuts.
 * Units    milliseconds for the grid (points' times count in whole ones), nanoseconds for
 *          points.
 * Errors   arena_error().
 * Threads  none.
 * Source   read specification, 3.13
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "profile/label_set.h"
#include "profile/sample_filter.h"

#define HEATMAP_BUCKETS 20

struct heatmap_options {
	int64_t start_ms;
	int64_t end_ms;
	int64_t step_ms;            /* >= 1 */
	const struct str *group_by; /* borrowed until the end */
	size_t group_by_count;
	int64_t limit;  /* groups; <= 0: all */
	bool exemplars; /* the highest point of each cell */
};

/* A profile (span_id 0) or a span of one. */
struct heatmap_point {
	uint32_t series; /* a number given with heatmap_add_series() */
	int64_t time_unix_ns;
	int64_t value;
	struct uuid profile_id; /* of a span it does not count */
	uint64_t span_id;
	struct trace_id trace_id;
};

struct heatmap_exemplar {
	int64_t time_ms;
	int64_t value;
	struct uuid profile_id; /* of a profile */
	uint64_t span_id;       /* 0: of a profile */
	struct trace_id trace_id;
	struct label_set labels; /* without the group's */
};

struct heatmap_slot {
	int64_t time_ms;                    /* right edge */
	double *y_min;                      /* HEATMAP_BUCKETS */
	int32_t *counts;                    /* HEATMAP_BUCKETS */
	struct heatmap_exemplar *exemplars; /* by bucket, ascending */
	size_t exemplar_count;
};

struct heatmap_group {
	struct label_set labels;
	struct heatmap_slot *slots; /* ascending */
	size_t slot_count;
};

struct heatmap_result {
	struct heatmap_group *groups;
	size_t count;
};

struct heatmap;

int heatmap_new(const struct heatmap_options *options, struct arena *arena, struct heatmap **out,
                struct error *err);

/* `number` is dense from 0. The labels' bytes are copied. */
int heatmap_add_series(struct heatmap *heatmap, uint32_t number, const struct label_set *labels,
                       struct error *err);
int heatmap_add(struct heatmap *heatmap, const struct heatmap_point *point, struct error *err);

/* The result, once. */
int heatmap_finish(struct heatmap *heatmap, struct heatmap_result *out, struct error *err);
