/*
 * The contexts of one process: with a context ends what was allocated in it.
 *
 * Shape    a context that was made has a number, which its thread's blocks get until it makes
 *          another or ends this one; who else makes it current is not seen. A primary context
 *          has none: runtimes make it by ways of their own, and all threads use it.
 *          When a context ends, blocks of its number are gone; those of no number are gone
 *          too if there can be no other context that they belong to.
 * Units    devices are 1 + their number, 0 when not known, as events have them.
 * Threads  none: the collector's.
 * Source   collector specification 2.5
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/cuda_event.h"

#define CONTEXTS_MAX        64  /* at a time; more are not told apart */
#define CONTEXT_THREADS_MAX 256 /* threads that share a place forget theirs */

struct device_context {
	uint64_t handle;
	uint16_t device;
	uint16_t number;     /* 0: a primary one */
	uint32_t references; /* of a primary one */
};

struct context_thread {
	uint32_t tid;
	uint16_t number;
};

struct device_contexts {
	struct device_context contexts[CONTEXTS_MAX];
	uint32_t count;
	uint16_t last_number;
	uint16_t device; /* the one that was spoken of */
	bool has_many_devices;
	bool has_unseen;                /* there may be contexts that nobody told */
	struct context_thread *threads; /* CONTEXT_THREADS_MAX by tid; NULL: none yet */
};

/* What ends with a context. */
struct context_end {
	uint16_t number; /* blocks of that number; 0: none have it */
	bool takes_rest; /* blocks of no number too */
};

void device_contexts_fini(struct device_contexts *contexts);

/*
 * Books an event of kind DONE about contexts and devices; true when a context has ended by
 * it. Of others, nothing and false.
 */
bool device_contexts_book(struct device_contexts *contexts, const struct cuda_event *event,
                          struct context_end *out);

/* The number of the context that the thread has made current; 0: not known. */
uint16_t device_contexts_current(const struct device_contexts *contexts, uint32_t tid);
