/*
 * From a 128-bit hash to a dense id: interning.
 *
 * Shape    open addressing with linear probes; a slot holds an id and 32 bits of its
 *          key, so that what is not there costs one cache line; the keys lie densely by
 *          id. Ids count from 0 in the order of their first appearance. Some 30 bytes
 *          an entry. The hashes must be good ones (base/hash.h): equal hashes count as
 *          equal things.
 * Units    at most ID_MAP_MAX entries.
 * Threads  none.
 *
 * Invariants, asserted by id_map_check():
 *   1. slot_count is 0 or a power of two, and count * 4 <= slot_count * 3;
 *   2. every id < count stands in exactly one slot, reachable from its key's place;
 *   3. no two ids have equal keys.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define ID_MAP_MAX  UINT32_C(0x7fffffff)
#define ID_MAP_NONE UINT32_MAX

struct id_map_slot {
	uint32_t next_id; /* id + 1, 0: empty */
	uint32_t tag;     /* the high half of the key's low half */
};

struct id_map {
	struct hash128 *keys; /* by id */
	struct id_map_slot *slots;
	uint32_t count;
	uint32_t key_capacity;
	uint32_t slot_count;
};

/* A zeroed id_map is empty and needs no init. */
void id_map_fini(struct id_map *map);

/* Empty again, memory kept. */
void id_map_reset(struct id_map *map);

/* The id of `key`, or ID_MAP_NONE. */
uint32_t id_map_find(const struct id_map *map, struct hash128 key);

/* The id of `key`; *out_new says whether it is a new one (then it is the old count). */
uint32_t id_map_add(struct id_map *map, struct hash128 key, bool *out_new);

/* Asks the memory for the slot of a key that is looked up soon. */
static inline void id_map_prefetch(const struct id_map *map, struct hash128 key)
{
	if (map->slot_count > 0)
		__builtin_prefetch(&map->slots[(uint32_t)key.low & (map->slot_count - 1)]);
}

/* The same for what the look-up reads after the slot, which came meanwhile. */
static inline void id_map_prefetch_key(const struct id_map *map, struct hash128 key)
{
	const struct id_map_slot *slot;

	if (map->slot_count == 0)
		return;
	slot = &map->slots[(uint32_t)key.low & (map->slot_count - 1)];
	if (slot->next_id && slot->tag == (uint32_t)(key.low >> 32))
		__builtin_prefetch(&map->keys[slot->next_id - 1]);
}

/* Bytes that the map holds. */
size_t id_map_bytes(const struct id_map *map);

void id_map_check(const struct id_map *map);
