/*
 * The function tree of a merge: sums of many windows and parts by path, cut to the
 * largest.
 *
 * Shape    sums are added up by path, densely; totals come of one backward pass; names
 *          are touched for what is returned alone. Parts that are divided are kept apart
 *          until the end, so that a path is rounded once a part, half up, and not once a
 *          window. What the cut leaves out is folded into a child "other" of its parent.
 * Units    values as the profile's; sums wrap.
 * Errors   arena_error().
 * Threads  none; others may add to its path_table, which it holds.
 * Source   read specification, 3.7.1 and 3.7.2; collector specification, 3.4
 */
#pragma once

#include "profile/function_tree.h"
#include "profile/path_table.h"

struct path_tree;

/* In the arena, which outlives it. */
int path_tree_new(struct arena *arena, struct path_tree **out, struct error *err);
void path_tree_free(struct path_tree *tree);
DEFINE_FREEP(path_tree)

/* Adds sums, which are borrowed, divided by `divisor` (> 0): one for each part. */
int path_tree_add(struct path_tree *tree, const struct path_sums *sums, int64_t divisor,
                  struct error *err);

/* Which part of it is wanted. */
struct path_cut {
	const struct str *call_site; /* only what begins with these functions; none: all */
	size_t call_site_count;
	int64_t max_nodes; /* < 1: all */
};

/* The finished tree, once. */
int path_tree_finish(struct path_tree *tree, const struct path_cut *cut, struct function_tree **out,
                     struct error *err);
