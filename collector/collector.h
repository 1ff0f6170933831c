/*
 * The collector: events in, profiles and metrics out.
 *
 *	events of a source -> call_stacks -> gpu_process -> at each tick: sink, metrics
 *	pictures of devices (nvml/) -> device_books ---------^
 *
 * Shape    one loop on one thread: it drains the source whenever there is something, and
 *          ticks on the wall clock. A tick reads the kernel's counters, then drains what was
 *          sent up to then, then books what no event has told, then publishes. When it is
 *          told to stop, a last tick publishes what has happened since the one before.
 *          Metrics are handed on a second after the start, and at each tick.
 *          Devices are asked when a tick is due, and it waits for them a tenth of a second at
 *          most: what they say and what is booked are of one moment.
 * Units    nanoseconds, bytes.
 * Errors   collector_run() ends with that of a source that cannot go on.
 * Threads  all functions on one thread, but collector_stop(): any, also a signal's handler.
 * Source   collector specification 2.5, 3, 4.5; docs/architecture.md
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/event_source.h"
#include "collector/live/memory_tick.h"
#include "collector/python/python_stack.h"
#include "collector/unwind/frame_names.h"
#include "profile/profile_sink.h"

#define COLLECTOR_PROCESS_KEEP_NS (INT64_C(600) * 1000000000) /* of one that has ended */

struct collector_options {
	int64_t interval_ns;
	const char *service_suffix;
	const char *cluster;
	const char *hostname; /* NULL: that of this machine */
	bool has_pid_label;
	int64_t peak_window_ns; /* 0: as usual */
	enum malloc_series malloc_series;
	const char *malloc_service_name; /* of memory_tick.h */
	enum python_internals python_internals;
	enum frame_unnamed unnamed;
	size_t symbol_cache_bytes;
	size_t stack_bytes; /* of the table of stacks; 0: as usual */
	size_t block_bytes; /* of the tables of live blocks; 0: as usual */
	const char *proc;   /* of the machine that events are of; NULL: it is another one */
	const char *nvml;   /* path of the library; "": where it is; NULL: devices are not asked */
	const char *host_root; /* where it may be, too; NULL: nowhere else */
	struct event_source source;
	struct profile_sink sink;
	/* Prometheus text; NULL: nobody wants it */
	void (*metrics)(void *context, struct str text);
	void *metrics_context;
	int stop_descriptor; /* readable: stop; 0: none */
};

struct collector;

/* Takes the source, also when it fails. The texts of the options outlive the collector. */
int collector_open(const struct collector_options *options, struct collector **out,
                   struct error *err);

/* Closes the source. NULL is fine. */
void collector_close(struct collector *collector);

static inline void collector_closep(struct collector **collector)
{
	collector_close(*collector);
}

/* Until the source ends, or somebody says stop: 0. */
int collector_run(struct collector *collector, struct error *err);

/* Twice is once. */
void collector_stop(struct collector *collector);
