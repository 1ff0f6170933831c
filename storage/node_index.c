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
 * 32 bits of a pair's hash. Keyed, since peers choose what follows what. A table of
 * millions of slots leaves some ten bits to tell neighbours apart.
 */
static uint32_t tag_of(const struct node_index *index, uint32_t parent, uint32_t location)
{
	uint64_t mixed = ((uint64_t)parent << 32 | location) ^ index->key;

	mixed = (mixed ^ mixed >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	mixed = (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(mixed >> 32);
}

/* Where a tag belongs: as a fraction of the table, which may have any size. */
static uint32_t home(const struct node_index *index, uint32_t tag)
{
	return (uint32_t)((uint64_t)tag * index->slot_count >> 32);
}

static uint32_t after(const struct node_index *index, uint32_t at)
{
	return at + 1 < index->slot_count ? at + 1 : 0;
}

/* Writes to the first empty slot from the tag's place on. */
static void fill(struct node_index *index, struct node_slot slot)
{
	uint32_t at = home(index, slot.tag);

	while (index->slots[at].id)
		at = after(index, at);
	index->slots[at] = slot;
}

void node_index_settle(struct node_index *index)
{
	for (uint32_t i = 0; i < index->pending_count; i++)
		fill(index, index->pending[i]);
	index->pending_count = 0;
}

static void wait_for_slot(struct node_index *index, uint32_t id)
{
	const struct symbol_stack *node = node_at(index, id);
	const uint32_t tag = tag_of(index, node->parent, node->location);

	if (index->pending_count == NODE_INDEX_PENDING)
		node_index_settle(index);
	__builtin_prefetch(&index->slots[home(index, tag)], 1);
	index->pending[index->pending_count++] = (struct node_slot){ id, tag };
}

/*
 * Slots of a table that grew in place, from behind: most have a new place that is not
 * before the old one, and take it. The first few may have one among those that have not
 * moved, and some went round the old end: they wait.
 */
static void spread(struct node_index *index, uint32_t old_count)
{
	CLEANUP(mem_freep) struct node_slot *waiting = NULL;
	size_t count = 0;
	size_t capacity = 0;

	for (uint32_t i = old_count; i-- > 0;) {
		const struct node_slot slot = index->slots[i];
		uint32_t at = home(index, slot.tag);

		index->slots[i] = (struct node_slot){ 0 };
		if (!slot.id)
			continue;
		if (at >= i)
			while (at < index->slot_count && index->slots[at].id)
				at++;
		if (at >= i && at < index->slot_count) {
			index->slots[at] = slot;
			continue;
		}
		if (count == capacity) {
			capacity = capacity ? capacity * 2 : 64;
			waiting = mem_resize(waiting, capacity, sizeof(*waiting));
		}
		waiting[count++] = slot;
	}
	while (count > 0)
		fill(index, waiting[--count]);
}

static void need_slots(struct node_index *index, uint32_t count)
{
	const uint32_t old_count = index->slot_count;

	if ((uint64_t)count * 4 <= (uint64_t)old_count * 3)
		return;
	if (index->slot_count == 0)
		index->slot_count = FIRST_SLOTS;
	while ((uint64_t)count * 4 > (uint64_t)index->slot_count * 3)
		index->slot_count += index->slot_count / 2; /* not twice: it has tens of MB */
	index->slots =
		mem_table_grow(index->slots, old_count, index->slot_count, sizeof(*index->slots));
	spread(index, old_count);
}

void node_index_init(struct node_index *index, const struct column *column, uint64_t key,
                     uint32_t node_count)
{
	*index = (struct node_index){ .column = column, .key = key };
	index->count = node_count > 0 ? node_count - 1 : 0;
	need_slots(index, index->count + 1);
	for (uint32_t id = 1; id <= index->count; id++)
		wait_for_slot(index, id);
	node_index_settle(index);
}

void node_index_fini(struct node_index *index)
{
	mem_table_free(index->slots, index->slot_count, sizeof(*index->slots));
	*index = (struct node_index){ 0 };
}

uint32_t node_index_find(const struct node_index *index, uint32_t parent, uint32_t location)
{
	const uint32_t tag = tag_of(index, parent, location);

	for (uint32_t at = home(index, tag); index->slots[at].id; at = after(index, at)) {
		const struct symbol_stack *node;

		if (index->slots[at].tag != tag)
			continue;
		node = node_at(index, index->slots[at].id);
		if (node->parent == parent && node->location == location)
			return index->slots[at].id;
	}
	return 0;
}

void node_index_add(struct node_index *index, uint32_t id)
{
	assert(id == index->count + 1);
	index->count++;
	need_slots(index, index->count);
	wait_for_slot(index, id);
}
