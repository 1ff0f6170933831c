/*
 * The contexts of one process: on which device each is, and what ends with it.
 *
 * Shape    a context has a number, which the blocks get that are allocated while it is
 *          current. Which one that is events say: for certain where whatever makes one
 *          current is watched (CUDA_EVENT_CONTEXT_SEEN), else it is the last that the thread
 *          has made and not ended. Where it came out that one was current unseen, it is not
 *          known any more which one is.
 *          A primary context is one a device, and runtimes make it by ways of their own: it
 *          may be met without being made. On which device it is tells who retains it, or asks
 *          for the device while it is current.
 *          When a context ends, blocks of its number are gone, with a primary one those of no
 *          number on its device, and all of no number if there can be no other context that
 *          they belong to.
 * Units    devices are 1 + their number, 0 when not known, as events have them.
 * Threads  none: the collector's.
 * Source   collector specification 2.5
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/cuda_event.h"

#define CONTEXTS_MAX 64 /* at a time; more are not told apart */

enum context_origin {
	CONTEXT_MADE,    /* by its process */
	CONTEXT_PRIMARY, /* it is that of its device */
	CONTEXT_MET,     /* it was current, and nobody told how it was made */
};

struct device_context {
	uint64_t handle;
	enum context_origin origin;
	uint16_t device;
	uint16_t number;
	uint32_t references; /* of a primary one, that were seen */
};

struct device_contexts {
	struct device_context contexts[CONTEXTS_MAX];
	uint32_t count;
	uint16_t last_number;
	uint16_t device; /* the one that was spoken of */
	bool has_many_devices;
	bool has_unseen; /* there may be contexts that nobody told */
	bool is_unsure;  /* which one is current */
};

/* Where a call is made. */
struct context_place {
	uint16_t number; /* of its context; 0: not known */
	uint16_t device; /* where that is for certain */
};

/* What ends with a context. */
struct context_end {
	uint16_t number; /* blocks of that number; 0: none have it */
	uint16_t device; /* blocks of no number on that device; 0: none */
	bool takes_rest; /* blocks of no number, wherever they are */
};

/*
 * Books an event of kind DONE about contexts and devices; true when a context has ended by
 * it. Of others, nothing and false.
 */
bool device_contexts_book(struct device_contexts *contexts, const struct cuda_event *event,
                          struct context_end *out);

/* Where the call of an event was made. */
struct context_place device_contexts_current(struct device_contexts *contexts,
                                             const struct cuda_event *event);

/* On which device the context of a number is; 0: not known, or it has ended. */
uint16_t device_contexts_device(const struct device_contexts *contexts, uint16_t number);
