#include "collector/elf/row_cache.h"

#include <stdlib.h>

#include "base/mem.h"

struct row_set {
	struct row_cache_entry ways[2];
	uint32_t newest;
};

struct row_cache {
	struct row_set sets[ROW_CACHE_SETS];
};

struct row_cache *row_cache_new(void)
{
	return mem_zalloc(1, sizeof(struct row_cache));
}

void row_cache_free(struct row_cache *cache)
{
	free(cache);
}

struct row_cache_entry *row_cache_find(struct row_cache *cache, uint32_t module, uint64_t address,
                                       bool *out_known)
{
	const uint64_t mixed = (address ^ (uint64_t)module << 40) * UINT64_C(0x9e3779b97f4a7c15) >>
	                       32;
	struct row_set *set = &cache->sets[mixed % ROW_CACHE_SETS];
	struct row_cache_entry *entry;

	for (uint32_t way = 0; way < 2; way++) {
		entry = &set->ways[way];
		if (entry->address == address && entry->module == module) {
			set->newest = way;
			*out_known = true;
			return entry;
		}
	}
	set->newest = !set->newest;
	entry = &set->ways[set->newest];
	entry->module = module;
	entry->address = address;
	*out_known = false;
	return entry;
}
