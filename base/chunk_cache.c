#include "base/chunk_cache.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

/* What stands at the beginning of a block that waits. */
struct waiting {
	struct waiting *next;
};

struct chunk_cache {
	size_t keep;

	pthread_mutex_t lock; /* guards everything below */
	struct waiting *first;
	size_t count;
};

struct chunk_cache *chunk_cache_new(size_t keep)
{
	struct chunk_cache *cache = mem_zalloc(1, sizeof(*cache));

	cache->keep = keep;
	(void)pthread_mutex_init(&cache->lock, NULL);
	return cache;
}

void chunk_cache_free(struct chunk_cache *cache)
{
	if (!cache)
		return;
	while (cache->first) {
		struct waiting *block = cache->first;

		cache->first = block->next;
		free(block);
	}
	(void)pthread_mutex_destroy(&cache->lock);
	free(cache);
}

void *chunk_cache_take(struct chunk_cache *cache)
{
	struct waiting *block;

	(void)pthread_mutex_lock(&cache->lock);
	block = cache->first;
	if (block) {
		cache->first = block->next;
		cache->count--;
	}
	(void)pthread_mutex_unlock(&cache->lock);
	return block ? block : malloc(CHUNK_CACHE_BYTES);
}

void chunk_cache_give(struct chunk_cache *cache, void *block)
{
	struct waiting *waiting = block;

	(void)pthread_mutex_lock(&cache->lock);
	if (cache->count < cache->keep) {
		waiting->next = cache->first;
		cache->first = waiting;
		cache->count++;
		waiting = NULL;
	}
	(void)pthread_mutex_unlock(&cache->lock);
	free(waiting);
}
