/*
 * Encoded push requests on their way out, in order, by one thread.
 *
 * Shape    the thread takes the oldest, and tries it until it is delivered, refused or too
 *          old; what waits behind it, in memory or on disk, is push_backlog.h's. A retry
 *          sends the same bytes, so that a server which has stored them knows them. What
 *          has piled up goes out at a bounded speed, and before anything newer.
 * Errors   none for who adds: what is lost is counted, and logged once a minute.
 * Threads  any thread adds and asks; the transport is called by the queue's thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"
#include "profile/profile_sink.h"
#include "server/push/push_backlog.h"

enum push_outcome {
	PUSH_DELIVERED,
	PUSH_RETRY,   /* nobody there, or busy */
	PUSH_REFUSED, /* will never be taken */
	PUSH_GONE,    /* nor will anything: who takes it has gone for good */
};

struct push_answer {
	enum push_outcome outcome;
	int64_t pause_ns; /* PUSH_RETRY: not before that, as the other side says; or 0 */
};

struct push_transport {
	/*
	 * Delivers one request. Fills *err but when it was delivered or PUSH_GONE.
	 */
	struct push_answer (*deliver)(void *context, struct str request, struct error *err);
	/* From another thread: there is no time left, what is under way ends soon. Or NULL. */
	void (*cancel)(void *context);
	void *context;
};

struct push_queue_options {
	struct push_transport transport;
	struct push_backlog_options backlog;
	size_t request_bytes;    /* of one request of the sink; 0: as usual */
	int64_t drain_pause_ns;  /* from one push to the next while more wait; 0: none */
	uint64_t drain_bytes_s;  /* what those may have a second; 0: any */
	int64_t retry_first_ns;  /* pause behind the first failure; doubles */
	int64_t retry_most_ns;   /* and ends here, but for what the other side asks for */
	int64_t last_moments_ns; /* what push_queue_free() gives to what still waits */
};

/* Since the queue was made; the backlog's have what is being tried, too. */
struct push_queue_counts {
	uint64_t delivered;
	uint64_t retried;
	uint64_t refused;
	struct push_backlog_counts backlog;
};

/* Of all reasons: requests, and profiles that became none. */
uint64_t push_queue_dropped(const struct push_queue_counts *counts);

struct push_queue;

struct push_queue *push_queue_new(const struct push_queue_options *options)
	__attribute__((returns_nonnull));

/*
 * Delivers what waits, as long as last_moments_ns, cancels what is under way then, and
 * ends. What is left stays in the spool, if there is one. NULL is fine.
 */
void push_queue_free(struct push_queue *queue);
DEFINE_FREEP(push_queue)

/* A copy of the bytes waits. */
void push_queue_add(struct push_queue *queue, struct str request);

struct push_queue_counts push_queue_counts(struct push_queue *queue);

/* A sink that encodes profiles and adds them. It lives as long as the queue. */
struct profile_sink push_queue_sink(struct push_queue *queue);
