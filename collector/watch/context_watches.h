/*
 * Processes that see several devices: in each of them, and nowhere else, the functions that
 * make contexts current get probes, in every driver that it has mapped.
 *
 * Shape    begun when a process is told that it sees several devices, ended with it. A process
 *          of which not all drivers got their probes is not watched: what it does unseen must
 *          not be taken for known. Of CONTEXT_WATCHES_MAX at a time, and LIBRARIES_OF_ONE_MAX
 *          drivers in each, more are refused.
 * Errors   none: what went wrong is counted, and told by context_watches_trouble().
 * Threads  none: the collector's.
 * Source   collector specification 2.5
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/bpf/cuda_probe_shared.h"
#include "collector/watch/library_file.h"

/* Who sets probes: probe_set, or a test. */
struct context_attacher {
	/* On the driver in one process; a driver without any of the functions has no link. */
	int (*attach)(void *context, int descriptor, uint32_t tgid, void **out_link,
	              struct error *err);
	void (*detach)(void *context, void *link);
	/* All that makes contexts current is seen from now on; false: there are too many. */
	bool (*watch)(void *context, const struct process_key *key);
	void (*unwatch)(void *context, const struct process_key *key);
	void *context;
};

struct context_watch_counts {
	size_t processes; /* that are watched */
	uint64_t refused; /* since the start: too many, or with too many drivers, or too fast */
	uint64_t errors;  /* likewise: drivers that could not be opened, or get their probes */
};

struct context_watches;

struct context_watches *context_watches_new(const struct context_attacher *attacher)
	__attribute__((returns_nonnull));

/* Detaches all. */
void context_watches_free(struct context_watches *watches);
DEFINE_FREEP(context_watches)

/* The process sees several devices; twice is once. */
void context_watches_begin(struct context_watches *watches, const struct process_key *key);

/* A driver was mapped. */
void context_watches_mapped(struct context_watches *watches, const struct library_mapping *mapping);

/* It has ended, or runs another program. */
void context_watches_end(struct context_watches *watches, const struct process_key *key);

struct context_watch_counts context_watches_counts(const struct context_watches *watches);

/* The last thing that went wrong since it was asked for; false: nothing. */
bool context_watches_trouble(struct context_watches *watches, struct error *out);
