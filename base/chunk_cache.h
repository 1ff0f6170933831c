/*
 * Memory of finished requests for the next ones: blocks of one size that stay warm.
 *
 * Shape    a stack of at most `keep` blocks of CHUNK_CACHE_BYTES; what comes back when it
 *          is full is freed. A page that was touched a moment ago costs nothing, a fresh
 *          one a page fault: a request of 1 MB would pay for 250 of them.
 * Threads  any; a lock is held for a few instructions.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

#define CHUNK_CACHE_BYTES ((size_t)256 << 10)

struct chunk_cache;

struct chunk_cache *chunk_cache_new(size_t keep) __attribute__((returns_nonnull));

/* After everything that was taken has come back. */
void chunk_cache_free(struct chunk_cache *cache);
DEFINE_FREEP(chunk_cache)

/* A block of CHUNK_CACHE_BYTES, not zeroed, or NULL when the system has none. */
void *chunk_cache_take(struct chunk_cache *cache);

void chunk_cache_give(struct chunk_cache *cache, void *block);
