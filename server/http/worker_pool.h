/*
 * The threads that execute requests, and the queue before them.
 *
 * Shape    a place in the queue is taken first (worker_pool_reserve), then filled: a
 *          caller learns that the queue is full while it can still answer. Workers call
 *          the route's handler and finish what is done.
 *          Heavy requests (writes, whose decoded profiles wait for the commit) stand in a
 *          lane of their own: as long as those that run weigh too much together, the next
 *          one waits as its body only, and light ones pass. One always runs.
 * Units    the queue is bounded by length; the bytes of waiting requests are in
 *          memory.limit. Weights are bytes.
 * Threads  any thread may reserve and push.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "server/http/exchange.h"

struct worker_pool;

struct worker_pool_options {
	size_t workers; /* threads, started at once */
	size_t queue_length;
	size_t weight_limit; /* of the heavy requests that run, from take-up to worker_pool_release() */
};

struct worker_pool *worker_pool_new(const struct worker_pool_options *options)
	__attribute__((returns_nonnull));

/* Executes what waits, then ends the threads. NULL is fine. */
void worker_pool_free(struct worker_pool *pool);
DEFINE_FREEP(worker_pool)

/* False when the queue is full. A place that was reserved must be pushed to. */
bool worker_pool_reserve(struct worker_pool *pool);

/*
 * exchange->weight above 0 makes it a heavy one: whoever finishes it releases its
 * weight.
 */
void worker_pool_push(struct worker_pool *pool, struct exchange *exchange);

/* A heavy request has ended; any thread. */
void worker_pool_release(struct worker_pool *pool, size_t weight);

size_t worker_pool_queue_length(struct worker_pool *pool);
size_t worker_pool_busy(struct worker_pool *pool);
