#include "storage/node_index.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

#define FIRST_SLOTS 1024

static const struct symbol_stack *node_at(const struct node_index *index, uint32_t id)
{
	return COLUMN_AT(index->column, struct symbol_stack, id);
}

/*
 * Spreads a pair over 64 bits: the low ones choose the slot, the high ones are the tag.
 * Keyed, since peers choose what follows what.
 */
static uint64_t hash_of(uint64_t key, uint32_t parent, uint32_t location)
{
	uint64_t mixed = ((uint64_t)parent << 32 | location) ^ key;

	mixed = (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	mixed = (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return mixed ^ mixed >> 32;
}

static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

/*
 * Where a hash belongs: its low half as a fraction of the table, which may have any
 * size.
 */
static uint32_t home(const struct node_index *index, uint64_t hash)
{
	return (uint32_t)((hash & UINT32_MAX) * index->slot_count >> 32);
}

static uint32_t after(const struct node_index *index, uint32_t at)
{
	return at + 1 < index->slot_count ? at + 1 : 0;
}

/* Writes to the first empty slot from the hash's place on. */
static void fill(struct node_index *index, uint64_t hash, uint32_t id)
{
	uint32_t at = home(index, hash);

	while (index->slots[at].id)
		at = after(index, at);
	index->slots[at] = (struct node_slot){ id, tag_of(hash) };
}

static void prefetch(const struct node_index *index, uint64_t hash)
{
	__builtin_prefetch(&index->slots[home(index, hash)], 1);
}

void node_index_settle(struct node_index *index)
{
	for (uint32_t i = 0; i < index->pending_count; i++)
		fill(index, index->pending[i].hash, index->pending[i].id);
	index->pending_count = 0;
}

static void wait_for_slot(struct node_index *index, uint64_t hash, uint32_t id)
{
	if (index->pending_count == NODE_INDEX_PENDING)
		node_index_settle(index);
	prefetch(index, hash);
	index->pending[index->pending_count].hash = hash;
	index->pending[index->pending_count].id = id;
	index->pending_count++;
}

/* All nodes anew, in a table with room for as many again. */
static void rebuild(struct node_index *index)
{
	const uint32_t count = index->count;

	mem_table_free(index->slots, index->slot_count, sizeof(*index->slots));
	if (index->slot_count == 0)
		index->slot_count = FIRST_SLOTS;
	while ((uint64_t)count * 4 > (uint64_t)index->slot_count * 3)
		index->slot_count += index->slot_count / 2; /* not twice: it has tens of MB */
	index->slots = mem_table(index->slot_count, sizeof(*index->slots));
	index->pending_count = 0;
	for (uint32_t id = 1; id <= count; id++) {
		const struct symbol_stack *node = node_at(index, id);

		wait_for_slot(index, hash_of(index->key, node->parent, node->location), id);
	}
	node_index_settle(index);
}

void node_index_init(struct node_index *index, const struct column *column, uint64_t key,
                     uint32_t node_count)
{
	*index = (struct node_index){ .column = column, .key = key };
	index->count = node_count > 0 ? node_count - 1 : 0;
	rebuild(index);
}

void node_index_fini(struct node_index *index)
{
	mem_table_free(index->slots, index->slot_count, sizeof(*index->slots));
	*index = (struct node_index){ 0 };
}

uint32_t node_index_find(const struct node_index *index, uint32_t parent, uint32_t location)
{
	const uint64_t hash = hash_of(index->key, parent, location);

	for (uint32_t at = home(index, hash); index->slots[at].id; at = after(index, at)) {
		const struct symbol_stack *node;

		if (index->slots[at].tag != tag_of(hash))
			continue;
		node = node_at(index, index->slots[at].id);
		if (node->parent == parent && node->location == location)
			return index->slots[at].id;
	}
	return 0;
}

void node_index_add(struct node_index *index, uint32_t id)
{
	const struct symbol_stack *node = node_at(index, id);

	assert(id == index->count + 1);
	index->count++;
	if ((uint64_t)index->count * 4 > (uint64_t)index->slot_count * 3)
		rebuild(index);
	else
		wait_for_slot(index, hash_of(index->key, node->parent, node->location), id);
}
