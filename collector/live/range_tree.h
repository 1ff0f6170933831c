/*
 * Ranges of addresses of one process, apart from each other and in their order.
 *
 * Shape    a search tree whose nodes have priorities by a keyed hash, so that no order in which
 *          ranges come makes it deep: each step is some thirty comparisons in one of a million.
 *          A tree that has become empty gives its memory back.
 * Units    bytes; 40 of memory a range.
 * Errors   range_tree_put() says false when the budget is used up.
 * Threads  none: the collector's.
 *
 * Invariants, asserted by range_tree_check():
 *   1. no range is empty, ends behind the last address, or has an address of another;
 *   2. a node's left part starts below it, its right part above, and neither has a higher
 *      priority;
 *   3. the budget was asked for exactly what the nodes take.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"

struct address_range {
	uint64_t start;
	uint64_t bytes;
	uint64_t made;   /* some number of its owner: when */
	uint32_t number; /* likewise: what lies there */

	/* the tree's own */
	uint32_t priority;
	uint32_t left; /* nodes, 0: none */
	uint32_t right;
};

struct range_tree {
	struct budget *budget;
	struct address_range *nodes; /* the first is none */
	uint32_t root;
	uint32_t unused; /* the first one; they hang together by `left` */
	uint32_t used;   /* up to there nodes were in use */
	uint32_t capacity;
	size_t count;
	uint64_t key;
};

/* The budget outlives the tree. */
void range_tree_init(struct range_tree *tree, struct budget *budget);
void range_tree_fini(struct range_tree *tree);

/* How many bytes from `start` on are addresses. */
static inline uint64_t range_bytes(uint64_t start, uint64_t bytes)
{
	return bytes < UINT64_MAX - start ? bytes : UINT64_MAX - start;
}

/* Adds one that is not empty and apart from all that are there. */
bool range_tree_put(struct range_tree *tree, const struct address_range *range);

/*
 * The first that ends behind `address`: the one in which it lies, or the next; NULL: there is
 * none. Until the next change.
 */
const struct address_range *range_tree_find(const struct range_tree *tree, uint64_t address);

/* Takes the one that starts there out; false: none does. */
bool range_tree_take(struct range_tree *tree, uint64_t start, struct address_range *out);

void range_tree_check(const struct range_tree *tree);
