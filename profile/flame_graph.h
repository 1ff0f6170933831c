/*
 * Flame graphs in Pyroscope's form: levels of numbers that refer to names.
 *
 * Shape    a level is a flat list, left to right: x_delta, total, self, name (single) or
 *          xL_delta, totalL, selfL, xR_delta, totalR, selfR, name (a comparison of two
 *          sides). Level 0 is the root alone, names[0] is "total". Names are views into
 *          the trees that the graph was made of (into the arena, for a comparison).
 * Errors   arena_error().
 * Threads  none.
 * Source   read specification, 3.7.4 and 3.9
 */
#pragma once

#include "profile/function_tree.h"

#define FLAME_SINGLE_WIDTH 4 /* numbers a node */
#define FLAME_DIFF_WIDTH   7

struct flame_level {
	int64_t *values;
	size_t count;
};

struct flame_graph {
	struct str *names;
	size_t name_count;
	struct flame_level *levels;
	size_t level_count;
	int64_t total;
	int64_t max_self;
	bool is_diff;
	int64_t left_ticks; /* of a comparison */
	int64_t right_ticks;
};

/* `tree` is finished (and truncated by the caller); max_nodes <= 0: no second cut. */
int flame_graph_make(const struct function_tree *tree, int64_t max_nodes, struct arena *arena,
                     struct flame_graph *out, struct error *err);

/* Both trees are finished and truncated by the caller. */
int flame_graph_diff(const struct function_tree *left, const struct function_tree *right,
                     int64_t max_nodes, struct arena *arena, struct flame_graph *out,
                     struct error *err);
