/*
 * From a 128-bit key to a dense id, in an arena: interning while a query runs.
 *
 * Shape    open addressing with linear probes over slots that hold an id and a tag of its
 *          key, so that only keys that are equal (but for one in four billion) are looked
 *          at; keys lie densely by id, ids count from 0 in the order of their first
 *          appearance. Equal keys count as equal things: a key is a good hash of a thing,
 *          or the thing itself, mixed. base/id_map.h is the same on the heap, for what
 *          outlives a request.
 * Errors   INTERN_NONE when the arena is full.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/hash.h"

#define INTERN_NONE UINT32_MAX
#define INTERN_MAX  UINT32_C(0x7fffffff)

struct intern_slot {
	uint32_t id; /* + 1, 0: empty */
	uint32_t tag;
};

/* Zeroed, it is empty. */
struct intern {
	struct hash128 *keys; /* by id */
	struct intern_slot *slots;
	size_t key_capacity;
	uint32_t count;
	uint32_t slot_count;
};

/* Makes room for `count` entries in all at once. False when the arena is full. */
bool intern_reserve(struct intern *intern, struct arena *arena, size_t count);

/* The id of `key`, or INTERN_NONE. */
uint32_t intern_find(const struct intern *intern, struct hash128 key);

/* The id of `key`; *out_new says whether it is a new one (then it is the old count). */
uint32_t intern_add(struct intern *intern, struct arena *arena, struct hash128 key, bool *out_new);

/* A key of two numbers: the numbers themselves beside their mix. */
static inline struct hash128 intern_pair(uint64_t secret, uint32_t a, uint32_t b)
{
	const uint64_t pair = (uint64_t)a << 32 | b;
	uint64_t mix = (pair ^ secret) * UINT64_C(0x9e3779b97f4a7c15);

	mix ^= mix >> 32;
	mix *= UINT64_C(0xd6e8feb86659fd93);
	return (struct hash128){ mix ^ mix >> 29, pair };
}
