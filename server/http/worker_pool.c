#include "server/http/worker_pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/routes/route.h"

struct worker {
	struct worker_pool *pool;
	pthread_t thread;
	size_t number;
};

struct queue {
	struct exchange *first;
	struct exchange **last; /* where the next one is linked in */
};

struct worker_pool {
	pthread_mutex_t lock; /* guards everything below, but for the workers themselves */
	pthread_cond_t has_work;
	struct queue light;
	struct queue heavy;
	size_t running_weight;
	size_t weight_limit;
	size_t waiting;
	size_t reserved; /* places taken and not yet filled */
	size_t limit;
	size_t busy;
	bool is_closed;

	struct worker *workers;
	size_t worker_count;
};

/* ---- queues ---- */

static void queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

static void queue_push(struct queue *queue, struct exchange *exchange)
{
	exchange->next = NULL;
	*queue->last = exchange;
	queue->last = &exchange->next;
}

static struct exchange *queue_pop(struct queue *queue)
{
	struct exchange *exchange = queue->first;

	queue->first = exchange->next;
	if (!queue->first)
		queue->last = &queue->first;
	exchange->next = NULL;
	return exchange;
}

/* Whether the next heavy request may run beside those that do. */
static bool fits(const struct worker_pool *pool)
{
	return pool->running_weight == 0 ||
	       (pool->running_weight < pool->weight_limit &&
	        pool->heavy.first->weight <= pool->weight_limit - pool->running_weight);
}

/* The queue whose first may run, the older one when both may; NULL when none may. */
static struct queue *ready(struct worker_pool *pool)
{
	if (!pool->heavy.first || !fits(pool))
		return pool->light.first ? &pool->light : NULL;
	if (!pool->light.first ||
	    pool->heavy.first->start_mono_ns < pool->light.first->start_mono_ns)
		return &pool->heavy;
	return &pool->light;
}

/* ---- workers ---- */

/* The next request, or NULL when the queue is closed and empty. */
static struct exchange *take(struct worker_pool *pool)
{
	struct exchange *exchange = NULL;
	struct queue *queue;

	(void)pthread_mutex_lock(&pool->lock);
	while (!(queue = ready(pool)) && !(pool->is_closed && pool->waiting == 0))
		(void)pthread_cond_wait(&pool->has_work, &pool->lock);
	if (queue) {
		exchange = queue_pop(queue);
		pool->running_weight += exchange->weight;
		pool->waiting--;
		pool->busy++;
	}
	if (pool->is_closed)
		(void)pthread_cond_broadcast(
			&pool->has_work); /* others may have nothing to wait for */
	(void)pthread_mutex_unlock(&pool->lock);
	return exchange;
}

static void rest(struct worker_pool *pool)
{
	(void)pthread_mutex_lock(&pool->lock);
	pool->busy--;
	(void)pthread_mutex_unlock(&pool->lock);
}

/*
 * Owns the request and its arena while the handler runs; ends when the queue is closed
 * and empty.
 */
static void *run(void *argument)
{
	const struct worker *worker = argument;
	char name[24];

	(void)snprintf(name, sizeof(name), "worker %zu", worker->number);
	log_name_thread(name);
	for (;;) {
		struct exchange *exchange = take(worker->pool);

		if (!exchange)
			return NULL;
		if (exchange->route->handler(exchange) == EXCHANGE_DONE)
			exchange_finish(exchange);
		rest(worker->pool);
	}
}

static void start(struct worker_pool *pool, size_t number)
{
	struct worker *worker = &pool->workers[number];

	worker->pool = pool;
	worker->number = number;
	if (pthread_create(&worker->thread, NULL, run, worker) != 0) {
		log_error("starting a worker: the system has no thread left");
		abort();
	}
}

struct worker_pool *worker_pool_new(const struct worker_pool_options *options)
{
	struct worker_pool *pool = mem_zalloc(1, sizeof(*pool));

	(void)pthread_mutex_init(&pool->lock, NULL);
	(void)pthread_cond_init(&pool->has_work, NULL);
	queue_init(&pool->light);
	queue_init(&pool->heavy);
	pool->limit = options->queue_length;
	pool->weight_limit = options->weight_limit;
	pool->worker_count = options->workers;
	pool->workers = mem_zalloc(options->workers, sizeof(*pool->workers));
	for (size_t i = 0; i < options->workers; i++)
		start(pool, i);
	return pool;
}

void worker_pool_free(struct worker_pool *pool)
{
	if (!pool)
		return;
	(void)pthread_mutex_lock(&pool->lock);
	pool->is_closed = true;
	(void)pthread_cond_broadcast(&pool->has_work);
	(void)pthread_mutex_unlock(&pool->lock);
	for (size_t i = 0; i < pool->worker_count; i++)
		(void)pthread_join(pool->workers[i].thread, NULL);
	free(pool->workers);
	(void)pthread_cond_destroy(&pool->has_work);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
}

bool worker_pool_reserve(struct worker_pool *pool)
{
	bool is_free;

	(void)pthread_mutex_lock(&pool->lock);
	is_free = !pool->is_closed && pool->waiting + pool->reserved < pool->limit;
	if (is_free)
		pool->reserved++;
	(void)pthread_mutex_unlock(&pool->lock);
	return is_free;
}

void worker_pool_push(struct worker_pool *pool, struct exchange *exchange)
{
	(void)pthread_mutex_lock(&pool->lock);
	queue_push(exchange->weight > 0 ? &pool->heavy : &pool->light, exchange);
	pool->reserved--;
	pool->waiting++;
	(void)pthread_cond_signal(&pool->has_work);
	(void)pthread_mutex_unlock(&pool->lock);
}

void worker_pool_release(struct worker_pool *pool, size_t weight)
{
	if (weight == 0)
		return;
	(void)pthread_mutex_lock(&pool->lock);
	pool->running_weight -= weight;
	/* more than one that waited may fit now, or, closed, all threads may end */
	(void)pthread_cond_broadcast(&pool->has_work);
	(void)pthread_mutex_unlock(&pool->lock);
}

size_t worker_pool_queue_length(struct worker_pool *pool)
{
	size_t waiting;

	(void)pthread_mutex_lock(&pool->lock);
	waiting = pool->waiting;
	(void)pthread_mutex_unlock(&pool->lock);
	return waiting;
}

size_t worker_pool_busy(struct worker_pool *pool)
{
	size_t busy;

	(void)pthread_mutex_lock(&pool->lock);
	busy = pool->busy;
	(void)pthread_mutex_unlock(&pool->lock);
	return busy;
}
