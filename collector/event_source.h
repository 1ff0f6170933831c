/*
 * Where the collector's events come from: the programs in the kernel, a recording, a test.
 *
 * Shape    a table of functions with a context. Whoever reads events calls drain() whenever
 *          the descriptor is readable, or again at once while there is more. Functions that
 *          are NULL are what the source does not have.
 * Units    times of events are nanoseconds of the boot-time clock of where they were made.
 * Errors   drain() ends a source that can not go on; the other functions have none.
 * Threads  none: the collector's.
 * Source   docs/architecture.md
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/cuda_event.h"
#include "collector/live/gpu_account.h"
#include "collector/live/gpu_metrics.h"

struct mapped_file;        /* collector/unwind/process_view.h */
struct process_view;       /* likewise */
struct process_identity;   /* collector/identity/process_identity.h */
struct python_description; /* collector/python/python_description.h */

#define EVENT_DRAIN_USUAL \
	4096 /* calls, and records of tasks, of one drain(): then others have
                                  their turn */

/* What drain() hands on, in its order. All of them are set. */
struct event_handlers {
	/* `size` is that of the whole record: with a stack if it is long enough for one. */
	void (*event)(void *context, const struct cuda_event *event, size_t size);
	void (*definition)(void *context, const struct code_definition *definition);
	/* The process has mapped a file for execution. */
	void (*mapped)(void *context, uint32_t tgid, const struct mapped_file *file);
	/* It runs another program. */
	void (*execed)(void *context, uint32_t tgid);
	/* Its main thread has ended; events of others may still come. */
	void (*exited)(void *context, uint32_t tgid);
	void *context;
};

enum event_source_state {
	EVENT_SOURCE_IDLE, /* nothing is left for now */
	EVENT_SOURCE_MORE, /* drain again */
	EVENT_SOURCE_END,  /* nothing will come any more */
};

/* What a source goes on without. */
enum event_trouble {
	EVENT_TROUBLE_NONE,
	EVENT_TROUBLE_OFTEN, /* it may come again and again */
	EVENT_TROUBLE_ONCE,
};

/* What the kernel has counted of one process. */
struct process_counters {
	uint32_t tgid;
	uint64_t start_ns;
	bool has_exited;
	struct kernel_counters by_class[CUDA_CLASS_COUNT];
};

struct event_source {
	int descriptor; /* readable when there is something; -1: drain until the end */

	/* -1 with *err when it cannot go on. */
	int (*drain)(void *context, const struct event_handlers *handlers, size_t limit,
	             enum event_source_state *out, struct error *err);

	/* All processes that were counted; nothing else is called meanwhile. NULL: none is. */
	void (*counters)(void *context,
	                 void (*visit)(void *to, const struct process_counters *counters),
	                 void *to);

	/* The counters of a process that has ended were read for the last time. */
	void (*forget)(void *context, uint32_t tgid, uint64_t start_ns);

	/* The files and memory of a process. */
	int (*open_process)(void *context, uint32_t tgid, struct process_view *out,
	                    struct error *err);

	/* As of struct process_namer. NULL: /proc alone says who a process is. */
	void (*identify)(void *context, uint32_t tgid, const char *comm,
	                 struct process_identity *out);
	bool (*settle)(void *context, uint32_t tgid, struct process_identity *identity);

	/* Which program a process runs, as far as that is known before its first event. */
	int (*program)(void *context, uint32_t tgid, struct exec_identity *out, struct error *err);

	/* How the Python of all processes of this program is read; maybe more than once. */
	void (*describe)(void *context, const struct exec_identity *program,
	                 const struct python_description *description);

	/* How long ago the event was that is handed on right now (ns). NULL: it is of now. */
	int64_t (*age)(void *context, const struct cuda_event *event);

	/* The last thing that went wrong since it was asked, and did not end it. */
	enum event_trouble (*trouble)(void *context, struct error *out);

	/* What it knows of itself; valid until the next call. */
	void (*health)(void *context, struct collector_health *out);

	void (*close)(void *context);
	void *context;
};
