/*
 * Whole stacks that were seen before: from a row's hash to a stack id.
 *
 * Shape    open addressing; a slot holds the id and 96 bits of the hash, so that a
 *          look-up is one cache line, which can be fetched ahead. Of bounded size: full,
 *          it begins anew.
 * Threads  none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define STACK_CACHE_MAX (UINT32_C(3) << 18) /* stacks; 16 MiB of slots, three quarters full */

struct stack_cache_slot {
	uint64_t low;
	uint32_t high;
	uint32_t stack; /* 0: empty; the root has no hash */
};

struct stack_cache {
	struct stack_cache_slot *slots;
	uint32_t slot_count; /* a power of two, or 0 */
	uint32_t count;
};

/* A zeroed one is empty. */
void stack_cache_fini(struct stack_cache *cache);

/* The stack with this hash, or 0. */
static inline uint32_t stack_cache_find(const struct stack_cache *cache, struct hash128 hash)
{
	const uint32_t mask = cache->slot_count - 1;

	if (cache->slot_count == 0)
		return 0;
	for (uint32_t at = (uint32_t)hash.low & mask;; at = (at + 1) & mask) {
		const struct stack_cache_slot *slot = &cache->slots[at];

		if (slot->stack == 0 ||
		    (slot->low == hash.low && slot->high == (uint32_t)hash.high))
			return slot->stack;
	}
}

/* Asks the memory for the slot of a hash that is looked up soon. */
static inline void stack_cache_prefetch(const struct stack_cache *cache, struct hash128 hash)
{
	if (cache->slot_count > 0)
		__builtin_prefetch(&cache->slots[(uint32_t)hash.low & (cache->slot_count - 1)]);
}

/* Puts in a stack (never 0) that is not there. */
void stack_cache_put(struct stack_cache *cache, struct hash128 hash, uint32_t stack);

static inline size_t stack_cache_bytes(const struct stack_cache *cache)
{
	return cache->slot_count * sizeof(*cache->slots);
}
