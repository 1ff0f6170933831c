/*
 * The threads that execute requests, and the queue before them.
 *
 * Shape    a place in the queue is taken first (worker_pool_reserve), then filled: a
 *          caller learns that the queue is full while it can still answer. Workers call
 *          the route's handler and finish what is done.
 * Units    the queue is bounded by length; the bytes of waiting requests are in
 *          memory.limit.
 * Threads  any thread may reserve and push.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "server/exchange.h"

struct worker_pool;

/* `workers` threads, started at once; at most `queue_length` requests wait. */
struct worker_pool *worker_pool_new(size_t workers, size_t queue_length)
	__attribute__((returns_nonnull));

/* Executes what waits, then ends the threads. NULL is fine. */
void worker_pool_free(struct worker_pool *pool);
DEFINE_FREEP(worker_pool)

/* False when the queue is full. A place that was reserved must be pushed to. */
bool worker_pool_reserve(struct worker_pool *pool);

void worker_pool_push(struct worker_pool *pool, struct exchange *exchange);

size_t worker_pool_queue_length(struct worker_pool *pool);
size_t worker_pool_busy(struct worker_pool *pool);
