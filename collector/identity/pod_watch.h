/*
 * Keeps a table of this node's pods as the API server has them: a list, then a watch.
 *
 * Shape    a thread of its own, so that nobody waits for a server. Whatever goes wrong is
 *          tried again, later and later; meanwhile the table is as it was. It is quiet:
 *          one list at the start, one connection, and pods of this node alone.
 * Units    nanoseconds of the monotonic clock.
 * Errors   of opening: ERROR_UNAVAILABLE when there is no thread. Others are counted, and
 *          logged at most once a minute.
 * Threads  open and close: one. The table: any.
 * Source   collector specification 6.2; Kubernetes, "Efficient detection of changes"
 */
#pragma once

#include "base/cleanup.h"
#include "collector/identity/kubernetes_access.h"
#include "collector/identity/pod_table.h"

struct pod_watch_options {
	struct kubernetes_access access;
	const char *node;
	int64_t retry_first_ns; /* 0: a second; it doubles from time to time */
	int64_t retry_most_ns;  /* 0: a minute */
};

struct pod_watch_counts {
	uint64_t lists;       /* that were whole */
	uint64_t events;      /* of watches */
	uint64_t failures;    /* requests that gave nothing, or ended in their middle */
	uint64_t passed_over; /* pods that were too large, or none */
	bool is_current;      /* the last request is going on well */
};

struct pod_watch;

/* The table outlives it. */
int pod_watch_open(const struct pod_watch_options *options, struct pod_table *table,
                   struct pod_watch **out, struct error *err);

/* Ends what is going on, at once. NULL is fine. */
void pod_watch_close(struct pod_watch *watch);

struct pod_watch_counts pod_watch_counts(struct pod_watch *watch);
