#include "server/http/arena_pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/chunk_cache.h"
#include "base/mem.h"

#define CHUNKS_KEPT 32 /* 8 MiB: what a few requests at a time use */

struct arena_pool {
	size_t limit_bytes;
	struct chunk_cache *chunks;
	struct budget *budget;
	size_t keep;

	pthread_mutex_t lock; /* guards everything below */
	struct arena **arenas;
	size_t count;
};

struct arena_pool *arena_pool_new(size_t limit_bytes, struct budget *budget, size_t keep)
{
	struct arena_pool *pool = mem_zalloc(1, sizeof(*pool));

	pool->limit_bytes = limit_bytes;
	pool->budget = budget;
	pool->keep = keep;
	pool->chunks = chunk_cache_new(CHUNKS_KEPT);
	pool->arenas = mem_zalloc(keep ? keep : 1, sizeof(*pool->arenas));
	(void)pthread_mutex_init(&pool->lock, NULL);
	return pool;
}

void arena_pool_free(struct arena_pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < pool->count; i++)
		arena_free(pool->arenas[i]);
	free(pool->arenas);
	chunk_cache_free(pool->chunks);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
}

struct arena *arena_pool_take(struct arena_pool *pool)
{
	struct arena *arena = NULL;

	(void)pthread_mutex_lock(&pool->lock);
	if (pool->count > 0)
		arena = pool->arenas[--pool->count];
	(void)pthread_mutex_unlock(&pool->lock);
	if (!arena) {
		arena = arena_new(pool->limit_bytes, pool->budget);
		arena_use_cache(arena, pool->chunks);
	}
	return arena;
}

void arena_pool_give(struct arena_pool *pool, struct arena *arena)
{
	arena_reset(arena);
	(void)pthread_mutex_lock(&pool->lock);
	if (pool->count < pool->keep) {
		pool->arenas[pool->count++] = arena;
		arena = NULL;
	}
	(void)pthread_mutex_unlock(&pool->lock);
	arena_free(arena);
}
