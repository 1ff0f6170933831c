#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/http/worker_pool.h"
#include "server/routes/route.h"

#define LIMIT 100

/* What handlers do here: they say that they run, and end when the test finishes them. */
struct log {
	pthread_mutex_t lock; /* guards everything below */
	pthread_cond_t changed;
	struct exchange *started[8];
	size_t count;
};

static struct log seen = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static enum exchange_state start(struct exchange *exchange)
{
	(void)pthread_mutex_lock(&seen.lock);
	seen.started[seen.count++] = exchange;
	(void)pthread_cond_broadcast(&seen.changed);
	(void)pthread_mutex_unlock(&seen.lock);
	return EXCHANGE_PENDING;
}

static const struct route route = { .method = "POST", .path = "/", .handler = start };

static void wait_for_started(size_t count)
{
	(void)pthread_mutex_lock(&seen.lock);
	while (seen.count < count)
		(void)pthread_cond_wait(&seen.changed, &seen.lock);
	(void)pthread_mutex_unlock(&seen.lock);
}

static int set_up(void **state)
{
	seen.count = 0;
	*state = worker_pool_new(&(struct worker_pool_options){
		.workers = 2, .queue_length = 4, .weight_limit = LIMIT });
	return 0;
}

static void push(struct worker_pool *pool, struct exchange *exchange, size_t weight, int64_t time)
{
	*exchange = (struct exchange){ .route = &route, .weight = weight, .start_mono_ns = time };
	assert_true(worker_pool_reserve(pool));
	worker_pool_push(pool, exchange);
}

static void heavy_requests_wait_for_each_other_and_light_ones_pass(void **state)
{
	struct worker_pool *pool = *state;
	struct exchange heavy[3];
	struct exchange light;

	push(pool, &heavy[0], 60, 1);
	wait_for_started(1);
	push(pool, &heavy[1], 60, 2); /* 120 are more than 100 */
	push(pool, &light, 0, 3);
	wait_for_started(2);
	assert_ptr_equal(seen.started[1], &light);
	assert_int_equal(worker_pool_queue_length(pool), 1);
	worker_pool_release(pool, 60);
	wait_for_started(3);
	assert_ptr_equal(seen.started[2], &heavy[1]);
	push(pool, &heavy[2], 40, 4); /* 100 fit */
	wait_for_started(4);
	worker_pool_release(pool, 60);
	worker_pool_release(pool, 40);
	worker_pool_free(pool);
}

static void one_heavy_request_runs_whatever_it_weighs(void **state)
{
	struct worker_pool *pool = *state;
	struct exchange exchange;

	push(pool, &exchange, SIZE_MAX, 1);
	wait_for_started(1);
	worker_pool_release(pool, SIZE_MAX);
	worker_pool_free(pool);
}

static void a_full_queue_has_no_place(void **state)
{
	struct worker_pool *pool = *state;
	struct exchange exchanges[5];

	push(pool, &exchanges[0], LIMIT, 1);
	wait_for_started(1);
	for (int i = 1; i < 5; i++)
		push(pool, &exchanges[i], LIMIT, i + 1);
	assert_int_equal(worker_pool_queue_length(pool), 4);
	assert_false(worker_pool_reserve(pool));
	for (size_t i = 1; i < 5; i++) {
		worker_pool_release(pool, LIMIT);
		wait_for_started(i + 1);
	}
	worker_pool_release(pool, LIMIT);
	worker_pool_free(pool);
}

static void what_waits_is_executed_before_the_end(void **state)
{
	struct worker_pool *pool = *state;
	struct exchange exchanges[3];

	for (int i = 0; i < 3; i++)
		push(pool, &exchanges[i], 0, i);
	worker_pool_free(pool);
	assert_int_equal(seen.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(heavy_requests_wait_for_each_other_and_light_ones_pass,
		                       set_up),
		cmocka_unit_test_setup(one_heavy_request_runs_whatever_it_weighs, set_up),
		cmocka_unit_test_setup(a_full_queue_has_no_place, set_up),
		cmocka_unit_test_setup(what_waits_is_executed_before_the_end, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
