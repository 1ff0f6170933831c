/*
 * Nodes of a tree by (parent, frame): 4 bytes a slot, since the node itself holds the
 * key.
 *
 * Shape    open addressing with linear probes; a slot holds id (never 0, the root), 0 is
 *          empty. Who looks up compares with the tree's columns.
 * Threads  none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

struct pair_index {
	uint32_t *slots;
	uint32_t slot_count; /* a power of two, or 0 */
	uint32_t count;
};

/* Spreads a pair over 32 bits; keyed, since peers choose what follows what. */
static inline uint32_t pair_index_hash(uint64_t key, uint32_t parent, uint32_t frame)
{
	const uint64_t pair = ((uint64_t)parent << 32 | frame) ^ key;
	const uint64_t mixed = pair * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)((mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 32);
}

/* Whether the table must grow before one more entry: then every id is put in anew. */
static inline int pair_index_is_full(const struct pair_index *index)
{
	return (uint64_t)(index->count + 1) * 4 > (uint64_t)index->slot_count * 3;
}

static inline void pair_index_grow(struct pair_index *index)
{
	index->slot_count = index->slot_count ? index->slot_count * 2 : 1024;
	free(index->slots);
	index->slots = mem_zalloc(index->slot_count, sizeof(*index->slots));
	index->count = 0;
}

static inline void pair_index_fini(struct pair_index *index)
{
	free(index->slots);
	*index = (struct pair_index){ 0 };
}
