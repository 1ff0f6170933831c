/*
 * Arenas of requests that are over, for those to come.
 *
 * Shape    a small stack of empty arenas; past it they are freed.
 * Threads  any.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/budget.h"
#include "base/cleanup.h"

struct arena_pool;

/*
 * Arenas of at most limit_bytes each, whose bytes count in `budget`; at most `keep`
 * wait.
 */
struct arena_pool *arena_pool_new(size_t limit_bytes, struct budget *budget, size_t keep)
	__attribute__((returns_nonnull));
void arena_pool_free(struct arena_pool *pool);
DEFINE_FREEP(arena_pool)

struct arena *arena_pool_take(struct arena_pool *pool) __attribute__((returns_nonnull));
void arena_pool_give(struct arena_pool *pool, struct arena *arena);
