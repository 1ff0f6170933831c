/*
 * Who calls a function, and what it calls, over all its places.
 *
 * Shape    places are the outermost ones on each stack, so that recursion counts once. Two
 *          trees share the frames of the first; node 1 of each is the function itself. In
 *          `callees` what is below a place is below it; in `callers` each parent is a child,
 *          and self is what came from there without a further caller.
 * Units    values as the profile's; sums wrap.
 * Errors   arena_error().
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "profile/frame_totals.h"

#define FRAME_SANDWICH_TOP 1 /* the function's node in both trees */

struct frame_sandwich {
	bool is_found;
	uint32_t frame; /* of several with that name the one with the largest total */
	struct frame_value sides[FRAME_SIDES]; /* over all places, inner ones too */
	struct frame_tree *callers;
	struct frame_tree *callees;
};

/* Of all frames with a name in a finished tree, of which the table is. */
int frame_sandwich_make(const struct frame_tree *tree, const struct frame_totals *table,
                        const uint32_t *ranks, struct str name, struct frame_sandwich *out,
                        struct error *err);
