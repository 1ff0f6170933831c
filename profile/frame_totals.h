/*
 * What each frame of a tree has, exactly: the table beside a flame graph.
 *
 * Shape    a row a frame that has anything on a side: self over all its places, and a total
 *          that counts a stack once, however often the frame is on it. Rows are in the order
 *          of the change between the sides, of self, then of total, the largest first, then
 *          of ranks: with one side that is the largest first. Row i is number i + 1 in an
 *          answer; 0 is the root.
 * Units    values as the profile's; sums wrap.
 * Errors   arena_error().
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "profile/frame_tree.h"

struct frame_row {
	uint32_t frame;
	struct frame_value sides[FRAME_SIDES];
};

struct frame_totals {
	struct frame_row *rows;
	size_t count;
	uint32_t *numbers; /* by frame */
};

/* Of a finished tree. */
int frame_totals_make(const struct frame_tree *tree, const uint32_t *ranks,
                      struct frame_totals *out, struct error *err);
