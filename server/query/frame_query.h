/*
 * Questions answered with frames: a flame graph of our own with its exact table, or the
 * comparison of two.
 *
 * Shape    a side is a query over its range, or at a moment. All sums of all sides become
 *          one tree; table and sandwich are computed of it before the graph is cut.
 * Units    milliseconds as the wire has them.
 * Errors   as server/query/read_query.h.
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "profile/frame_graph.h"
#include "profile/frame_sandwich.h"
#include "server/query/instant.h"
#include "server/query/read_query.h"

struct frame_query {
	struct read_query query;
	int64_t at_ms; /* of a moment; 0: the query has a range */
};

/* What is in the numbers of a side. */
struct frame_told {
	bool is_counted; /* of live things, but for a plain sum of them */
	struct instant_snapshots snapshots;
};

struct frame_view_options {
	enum frame_detail detail;
	size_t max_nodes;    /* of each graph; 0: all */
	struct str sandwich; /* a name, or {NULL, 0} */
};

struct frame_view {
	size_t side_count;
	struct str unit;
	struct frame_tree *tree; /* its root has the sides' totals */
	struct frame_totals totals;
	struct frame_graph graph;
	bool has_folded; /* one of the graphs has: frame totals.count + 1 is "other" */
	struct frame_told told[FRAME_SIDES];
	bool has_sandwich; /* it was asked for */
	struct frame_sandwich sandwich;
	struct frame_graph callers; /* when it was found */
	struct frame_graph callees;
};

/* Of one side, or of FRAME_SIDES of one unit. */
int frame_view_make(struct frame_query *sides, size_t side_count,
                    const struct frame_view_options *options, struct frame_view *out,
                    struct error *err);
