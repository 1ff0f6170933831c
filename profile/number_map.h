/*
 * From a 64-bit number to a small one: ids to indices, hashes to rows.
 *
 * Shape    open addressing with linear probes, at most two thirds full, in an arena.
 *          The places are keyed with a random number, so that nobody can prepare numbers
 *          that fall on one place.
 * Errors   number_map_at() says NULL when the arena is full.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"

#define NUMBER_MAP_NONE UINT32_MAX

struct number_map_slot {
	uint64_t number;
	uint32_t value; /* NUMBER_MAP_NONE: an empty place */
	uint32_t reserved;
};

struct number_map {
	struct arena *arena;
	struct number_map_slot *slots;
	size_t slot_count; /* a power of two, or 0 */
	size_t count;
	uint64_t key;
};

/* An empty map with room for `expected` numbers. False when the arena is full. */
bool number_map_init(struct number_map *map, struct arena *arena, size_t expected);

/*
 * The value of `number`, to be read or set. It is NUMBER_MAP_NONE for a new number and
 * must be set then, before the next call; the pointer is good until then. NULL: full.
 */
uint32_t *number_map_at(struct number_map *map, uint64_t number);

/* The value of `number`, or NUMBER_MAP_NONE. */
static inline uint32_t number_map_find(const struct number_map *map, uint64_t number)
{
	size_t at = hash64(map->key, &number, sizeof(number)) & (map->slot_count - 1);

	if (map->count == 0)
		return NUMBER_MAP_NONE;
	while (map->slots[at].value != NUMBER_MAP_NONE && map->slots[at].number != number)
		at = (at + 1) & (map->slot_count - 1);
	return map->slots[at].value;
}
