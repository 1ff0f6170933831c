#include "base/id_map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_SLOTS 64

void id_map_fini(struct id_map *map)
{
	free(map->keys);
	mem_table_free(map->slots, map->slot_count, sizeof(*map->slots));
	*map = (struct id_map){ 0 };
}

void id_map_reset(struct id_map *map)
{
	map->count = 0;
	if (map->slots)
		memset(map->slots, 0, map->slot_count * sizeof(*map->slots));
}

static uint32_t tag_of(struct hash128 key)
{
	return (uint32_t)(key.low >> 32);
}

/* The slot that holds `key`, or the empty one where it belongs. */
static struct id_map_slot *place(const struct id_map *map, struct hash128 key)
{
	const uint32_t mask = map->slot_count - 1;
	const uint32_t tag = tag_of(key);
	uint32_t at = (uint32_t)key.low & mask;

	while (map->slots[at].next_id &&
	       !(map->slots[at].tag == tag &&
	         hash128_equal(map->keys[map->slots[at].next_id - 1], key)))
		at = (at + 1) & mask;
	return &map->slots[at];
}

static void grow_slots(struct id_map *map)
{
	const uint32_t slot_count = map->slot_count ? map->slot_count * 2 : FIRST_SLOTS;

	assert(map->count < ID_MAP_MAX);
	mem_table_free(map->slots, map->slot_count, sizeof(*map->slots));
	map->slots = mem_table(slot_count, sizeof(*map->slots));
	map->slot_count = slot_count;
	for (uint32_t id = 0; id < map->count; id++)
		*place(map, map->keys[id]) = (struct id_map_slot){ id + 1, tag_of(map->keys[id]) };
}

uint32_t id_map_find(const struct id_map *map, struct hash128 key)
{
	const uint32_t next_id = map->slot_count ? place(map, key)->next_id : 0;

	return next_id ? next_id - 1 : ID_MAP_NONE;
}

uint32_t id_map_add(struct id_map *map, struct hash128 key, bool *out_new)
{
	struct id_map_slot *slot;

	if ((uint64_t)(map->count + 1) * 4 > (uint64_t)map->slot_count * 3)
		grow_slots(map);
	slot = place(map, key);
	*out_new = slot->next_id == 0;
	if (slot->next_id)
		return slot->next_id - 1;
	if (map->count == map->key_capacity) {
		map->key_capacity = map->key_capacity ? map->key_capacity * 2 : FIRST_SLOTS;
		map->keys = mem_resize(map->keys, map->key_capacity, sizeof(*map->keys));
	}
	map->keys[map->count] = key;
	*slot = (struct id_map_slot){ ++map->count, tag_of(key) };
	return map->count - 1;
}

size_t id_map_bytes(const struct id_map *map)
{
	return map->key_capacity * sizeof(*map->keys) + map->slot_count * sizeof(*map->slots);
}

void id_map_check(const struct id_map *map)
{
	uint32_t filled = 0;

	assert((map->slot_count & (map->slot_count - 1)) == 0);
	assert((uint64_t)map->count * 4 <= (uint64_t)map->slot_count * 3);
	for (uint32_t i = 0; i < map->slot_count; i++)
		filled += map->slots[i].next_id != 0;
	assert(filled == map->count);
	for (uint32_t id = 0; id < map->count; id++)
		assert(id_map_find(map, map->keys[id]) == id);
	(void)filled;
}
