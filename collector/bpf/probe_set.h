/*
 * The programs on the CUDA driver: loaded once, attached to any number of libraries, and
 * drained of what they send.
 *
 * Shape    opened (loaded, nothing attached), attached to files, drained whenever its
 *          descriptor is readable, closed.
 * Units    bytes.
 * Errors   ERROR_FORBIDDEN when a capability is missing, ERROR_UNIMPLEMENTED when the kernel
 *          is too old or the verifier refuses, ERROR_IO; ERROR_INVALID for a file that is no
 *          library of code.
 * Threads  none: the collector's. Links are closed by a thread of its own.
 * Source   collector specification 4.1, 4.5
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/bpf/cuda_probe_shared.h"
#include "collector/bpf/probe_link.h"
#include "collector/bpf/probe_points.h"
#include "collector/cuda_event.h"

#define PROBE_EVENT_RING_BYTES      ((size_t)4 << 20)
#define PROBE_DEFINITION_RING_BYTES ((size_t)1 << 20)
#define PROBE_STORM_SECONDS         5  /* of its limit may a process use up at once */
#define PROBE_CLOSING_MAX           64 /* links that are being closed: no process gets any then */
#define PROBE_DRAIN_NS              50000000 /* at most between events and their draining */

enum call_storage {
	CALL_STORAGE_BEST,
	CALL_STORAGE_HASH, /* as kernels without task storage must */
};

struct probe_set_options {
	size_t event_ring_bytes;      /* a power of two of at least a page; 0: the above */
	size_t definition_ring_bytes; /* likewise */
	uint32_t storm_limit;         /* stacks of a process a second; 0: no limit */
	enum probe_method method;
	enum call_storage storage;
};

/*
 * Called by probe_set_drain(). `size` is that of the whole record: a cuda_stack_event if it
 * is as long as one. Definitions come before the events that refer to them.
 */
struct probe_set_handlers {
	void (*event)(void *context, const struct cuda_event *event, size_t size);
	void (*definition)(void *context, const struct code_definition *definition); /* or NULL */
	void *context;
};

struct probe_set;

int probe_set_open(const struct probe_set_options *options,
                   const struct probe_set_handlers *handlers, struct probe_set **out,
                   struct error *err);

/* Detaches whatever is attached. NULL is fine. */
void probe_set_close(struct probe_set *set);

/* ERROR_NOT_FOUND: the process has ended; ERROR_UNAVAILABLE: too many come and go. */
int probe_set_attach(struct probe_set *set, const struct probe_target *target,
                     struct probe_link **out, struct error *err);

/* Whether it may be attached to one process alone. */
bool probe_set_has_processes(const struct probe_set *set);

/*
 * From now on all that makes contexts current in the process is seen: its functions have their
 * probes. False when there are CONTEXT_WATCHES_MAX. At its end the process is unwatched.
 */
bool probe_set_watch_contexts(struct probe_set *set, const struct process_key *key);
void probe_set_unwatch_contexts(struct probe_set *set, const struct process_key *key);

/* Returns at once: its probes are gone when nothing is closing any more. NULL is fine. */
void probe_set_detach(struct probe_set *set, struct probe_link *link);
size_t probe_set_closing(const struct probe_set *set);

/*
 * Readable (epoll) when it is time to drain: at once for a process that is new or has ended,
 * and when the ring fills; else after PROBE_DRAIN_NS, also when there is nothing.
 */
int probe_set_descriptor(const struct probe_set *set);

/* Hands on up to `limit` events and definitions; returns how many, `limit` when there may be more. */
size_t probe_set_drain(struct probe_set *set, size_t limit);

/* A map by its name, for what configures the programs; -1 when they have none. */
int probe_set_map(const struct probe_set *set, const char *name);

/* What a process has done so far; false when it has done nothing. */
bool probe_set_calls(const struct probe_set *set, const struct process_key *key,
                     struct process_calls *out);

/* All of them; the key of those that found no place is zero. Forget none meanwhile. */
void probe_set_each_process(const struct probe_set *set,
                            void (*visit)(void *context, const struct process_key *key,
                                          const struct process_calls *calls),
                            void *context);

/* A process that has ended, after its last counters were read. */
void probe_set_forget(struct probe_set *set, const struct process_key *key);

/* How often what went wrong since the start. */
uint64_t probe_set_loss(const struct probe_set *set, enum probe_loss loss);

/* Definitions of Python code that found no place in their ring; they are sent again. */
uint64_t probe_set_definitions_lost(const struct probe_set *set);

/* "ring_full", ...: for metrics. */
const char *probe_loss_name(enum probe_loss loss);
