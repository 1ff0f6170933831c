/*
 * The nodes of a stack tree by (parent, location).
 *
 * Shape    open addressing with linear probes; a slot holds a node's id (never 0, the
 *          root) and 32 bits of its hash, so that a look-up that fails reads one cache
 *          line. The same bits are the slot's place, as a fraction of the table: a table
 *          that grows moves its slots in their order and asks for no key. The key itself
 *          stands in the tree's column. Nodes below a new node are new: they are put in
 *          without a look-up, and later, when the slots that they need have come from
 *          memory. node_index_settle() ends that: before it, a node that was added is
 *          not found.
 * Threads  none.
 *
 * Invariant: after node_index_settle() every id from 1 to the last one added stands in
 * exactly one slot.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/column.h"

#define NODE_INDEX_PENDING 64

struct node_slot {
	uint32_t id; /* 0: empty */
	uint32_t tag;
};

struct node_index {
	const struct column *column;
	uint64_t key;
	struct node_slot *slots;
	uint32_t slot_count;
	uint32_t count; /* nodes, those that wait included */
	struct node_slot pending[NODE_INDEX_PENDING];
	uint32_t pending_count;
};

/* An index of the nodes 1 ... node_count - 1 of a column of struct symbol_stack. */
void node_index_init(struct node_index *index, const struct column *column, uint64_t key,
                     uint32_t node_count);
void node_index_fini(struct node_index *index); /* fine on a zeroed one */

/* The node, or 0. */
uint32_t node_index_find(const struct node_index *index, uint32_t parent, uint32_t location);

/* Takes in the node that was added to the column last; no other has its key. */
void node_index_add(struct node_index *index, uint32_t id);

/* Puts in the nodes that wait. */
void node_index_settle(struct node_index *index);

static inline size_t node_index_bytes(const struct node_index *index)
{
	return index->slot_count * sizeof(*index->slots);
}
