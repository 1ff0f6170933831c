#include "storage/stack_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_SLOTS 1024

void stack_cache_fini(struct stack_cache *cache)
{
	mem_table_free(cache->slots, cache->slot_count, sizeof(*cache->slots));
	*cache = (struct stack_cache){ 0 };
}

static void put(struct stack_cache *cache, struct stack_cache_slot entry)
{
	const uint32_t mask = cache->slot_count - 1;
	uint32_t at = (uint32_t)entry.low & mask;

	while (cache->slots[at].stack)
		at = (at + 1) & mask;
	cache->slots[at] = entry;
}

static void grow(struct stack_cache *cache)
{
	struct stack_cache_slot *old = cache->slots;
	const uint32_t old_count = cache->slot_count;

	cache->slot_count = old_count ? old_count * 2 : FIRST_SLOTS;
	cache->slots = mem_table(cache->slot_count, sizeof(*cache->slots));
	for (uint32_t i = 0; i < old_count; i++)
		if (old[i].stack)
			put(cache, old[i]);
	mem_table_free(old, old_count, sizeof(*old));
}

void stack_cache_put(struct stack_cache *cache, struct hash128 hash, uint32_t stack)
{
	if (cache->count >= STACK_CACHE_MAX) {
		memset(cache->slots, 0, stack_cache_bytes(cache));
		cache->count = 0;
	}
	if ((cache->count + 1) * 4 > cache->slot_count * 3)
		grow(cache);
	put(cache, (struct stack_cache_slot){ hash.low, (uint32_t)hash.high, stack });
	cache->count++;
}
