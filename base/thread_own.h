/*
 * One object a thread: made when the thread first asks for it, freed when the thread ends.
 *
 * Shape    for working memory of libraries that is dear to make and may be used by one
 *          thread at a time. A static object with THREAD_OWN() is ready for use.
 * Errors   abort() when `make` returns NULL, for want of memory as in base/mem.h.
 * Threads  any.
 *
 *	static struct thread_own compressors = THREAD_OWN(make_compressor, free_compressor);
 *
 *	compressor = thread_own_get(&compressors);
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct thread_own {
	void *(*make)(void);
	void (*free)(void *object);
	pthread_mutex_t mutex; /* while the key is made */
	_Atomic bool has_key;
	pthread_key_t key;
};

/* clang-format off */
#define THREAD_OWN(make_one, free_one) \
	{ .make = (make_one), .free = (free_one), .mutex = PTHREAD_MUTEX_INITIALIZER }
/* clang-format on */

/* The calling thread's own; never NULL. */
void *thread_own_get(struct thread_own *own);
