/*
 * A tree of frames drawn in levels, cut to its largest nodes.
 *
 * Shape    a level is a flat list of nodes, left to right: offset, total and self of each
 *          side, then the frame's number. Level 0 is one node. Another one is in the graph
 *          when it is one of the max_nodes largest by the larger of its totals, of equal
 *          ones the first in the order of the walk; never without its parent. The others of
 *          a parent are one leaf behind its children, of the number `folded_number`.
 * Errors   arena_error().
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "profile/frame_tree.h"

struct frame_level {
	int64_t *values;
	size_t count;
};

struct frame_graph {
	struct frame_level *levels;
	size_t level_count;
	size_t folded_nodes; /* that are in no node of their own */
};

struct frame_graph_options {
	size_t side_count;       /* 1: four numbers a node, 2: seven */
	size_t max_nodes;        /* without the root; 0: all */
	const uint32_t *numbers; /* by frame */
	uint32_t folded_number;
};

/* Of what lies at and below `top` in a finished tree: level 0 is `top`. */
int frame_graph_make(const struct frame_tree *tree, uint32_t top,
                     const struct frame_graph_options *options, struct frame_graph *out,
                     struct error *err);
