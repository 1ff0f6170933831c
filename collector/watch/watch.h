/*
 * Which processes there are, what they map, and the driver libraries among it: each gets its
 * probes as soon as the first process maps it.
 *
 * Shape    what the kernel tells of tasks, as it happens; a walk over /proc at the start, and
 *          again when records were lost, and each WATCH_RESCAN_NS. Libraries of the host's driver get
 *          their probes before anybody maps them.
 * Units    times are nanoseconds of the boot-time clock.
 * Errors   ERROR_FORBIDDEN without CAP_PERFMON, ERROR_IO. A library that gets no probes does
 *          not end anything: watch_trouble().
 * Threads  none: the collector's.
 * Source   collector specification 4.3
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/unwind/process_view.h"
#include "collector/watch/library_table.h"

#define WATCH_RESCAN_NS (INT64_C(60) * 1000000000)

/* Called by watch_drain(), in the order of the times. All of them are set. */
struct watch_handlers {
	/* A file was mapped for execution. */
	void (*mapped)(void *context, uint32_t tgid, const struct mapped_file *file);
	/* The process runs another program: all its mappings are gone. */
	void (*execed)(void *context, uint32_t tgid, struct str name);
	/* Its main thread has another name. */
	void (*named)(void *context, uint32_t tgid, struct str name);
	void (*forked)(void *context, uint32_t parent, uint32_t child);
	/* Its main thread has ended; others may go on for a while. */
	void (*exited)(void *context, uint32_t tgid);
	void *context;
};

struct watch_options {
	/* Libraries that get their probes at the start; NULL ends them. NULL: where
	   distributions have the driver. */
	const char *const *libraries;
};

struct watch_counts {
	struct library_counts libraries;
	size_t processes;  /* at the last walk over /proc */
	size_t unreadable; /* of them: maps that may not be read */
	uint64_t unopened; /* drivers that were seen mapped and could not be opened, each time */
	uint64_t lost_records; /* of tasks; what they told is seen at the next walk */
};

struct watch;

/* The attacher is called from watch_open() and watch_drain(). */
int watch_open(const struct watch_options *options, const struct library_attacher *attacher,
               const struct watch_handlers *handlers, struct watch **out, struct error *err);

/* Detaches all. NULL is fine. */
void watch_close(struct watch *watch);

/* Readable (epoll) when there is something that was not there at the last drain. */
int watch_descriptor(const struct watch *watch);

/* Up to `limit` records; true when there are more, for which nobody is woken. */
bool watch_drain(struct watch *watch, size_t limit);

/* Walks over /proc now. */
void watch_rescan(struct watch *watch);

struct watch_counts watch_counts(const struct watch *watch);

/* The last thing that went wrong with a library since it was asked for; false: nothing. */
bool watch_trouble(struct watch *watch, struct error *out);
