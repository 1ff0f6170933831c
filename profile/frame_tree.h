/*
 * A tree of frames with values on one or two sides: what flame graphs of our own are made
 * of. function_tree.h is the same by name alone.
 *
 * Shape    node 0 is the root. A node is a frame under a parent; children of one parent
 *          have distinct frames. Parents have smaller ids than children. Totals are valid
 *          after frame_tree_finish(); children are then linked in the order of their frames
 *          (frame_set_rank()). Several trees may share their frames.
 * Units    values as the profile's; sums wrap.
 * Errors   arena_error(). A tree that failed is of no further use.
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "profile/frame_set.h"
#include "profile/symbols.h"

struct frame_value {
	int64_t self;
	int64_t total;
};

/* What does not fit wraps. */
static inline int64_t frame_value_sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

struct frame_node {
	uint32_t parent;
	uint32_t frame;
	uint32_t first_child; /* FRAME_NONE at the end */
	uint32_t next_sibling;
	struct frame_value sides[FRAME_SIDES];
};

struct frame_tree {
	struct arena *arena;
	struct frame_set *frames;
	struct frame_node *nodes;
	size_t node_count;
	size_t node_capacity;
	struct intern children; /* (parent, frame); id + 1 is the node */
};

int frame_tree_new(struct frame_set *frames, struct frame_tree **out, struct error *err);

/* The node of a frame under a node; made when it is new. FRAME_NONE: arena full. */
uint32_t frame_tree_child(struct frame_tree *tree, uint32_t parent, uint32_t frame);

/*
 * Adds sums of one window to a side: self values of all stacks. Bare locations are named as
 * function_tree_bare_name() does; locations' inlined lines are frames. What has no source
 * file has that of its mapping. Sums below 1 are left out.
 */
int frame_tree_add_sums(struct frame_tree *tree, const struct stack_sums *sums,
                        enum frame_side side, struct error *err);

/*
 * Adds every self value of a side of `other`, which has the same frames, divided by
 * `divisor` (> 0) and rounded half up. What becomes 0 makes no node.
 */
int frame_tree_add_tree(struct frame_tree *tree, const struct frame_tree *other,
                        enum frame_side side, int64_t divisor, struct error *err);

/* Computes totals and links children in the order of ranks[frame]. */
int frame_tree_finish(struct frame_tree *tree, const uint32_t *ranks, struct error *err);

/*
 * A step of the walk over a finished tree below `top`, children behind their parents and in
 * their order, that begins with *depth 0 at `top`: the next node, or FRAME_NONE at the
 * end. With is_pruned nothing below `node` is visited.
 */
uint32_t frame_tree_next(const struct frame_tree *tree, uint32_t top, uint32_t node, bool is_pruned,
                         size_t *depth);
