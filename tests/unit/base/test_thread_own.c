#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/thread_own.h"

#define THREADS 8

static _Atomic int living;

static void *make(void)
{
	(void)atomic_fetch_add(&living, 1);
	return malloc(1);
}

static void end(void *object)
{
	(void)atomic_fetch_sub(&living, 1);
	free(object);
}

static struct thread_own objects = THREAD_OWN(make, end);
static pthread_barrier_t all_have_one;

static void *ask_twice(void *out)
{
	void **mine = out;

	*mine = thread_own_get(&objects);
	(void)pthread_barrier_wait(&all_have_one);
	return thread_own_get(&objects) == *mine ? out : NULL;
}

static void each_thread_has_one_until_it_ends(void **state)
{
	pthread_t threads[THREADS];
	void *object[THREADS];
	void *same;

	(void)state;
	assert_int_equal(pthread_barrier_init(&all_have_one, NULL, THREADS + 1), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_twice, &object[i]), 0);
	(void)pthread_barrier_wait(&all_have_one);
	for (int i = 0; i < THREADS; i++) {
		for (int j = 0; j < i; j++)
			assert_ptr_not_equal(object[i], object[j]);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &same), 0);
		assert_ptr_equal(same, &object[i]);
	}
	assert_int_equal(atomic_load(&living), 0);
	(void)pthread_barrier_destroy(&all_have_one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_has_one_until_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
