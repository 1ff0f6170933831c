/*
 * Pushes that wait, in the order in which they came: in memory, and from there on disk.
 *
 * Shape    without a spool they wait in memory. With one, a thread of the backlog writes
 *          each to the spool as soon as it comes, and there it stays until it is settled:
 *          whoever is killed loses what came in the last moment. Files are synced once
 *          something could not be delivered: what goes out at once costs no disk a write.
 *          Where the spool cannot be written, pushes wait in memory, and it is tried again.
 *          Memory and spool are bounded, and over a bound the oldest are dropped; the one
 *          that is taken is not.
 * Errors   none for who adds: what is lost is counted, and logged once a minute.
 * Threads  any adds and asks, without waiting for a disk; one takes and settles.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/strbuf.h"

/* Why a push was dropped before it was delivered. PUSH_DROP(id, name). */
#define PUSH_DROPS                            \
	PUSH_DROP(MEMORY_FULL, "memory_full") \
	PUSH_DROP(SPOOL_FULL, "spool_full")   \
	PUSH_DROP(TOO_OLD, "too_old")         \
	PUSH_DROP(TOO_LARGE, "too_large")     \
	PUSH_DROP(DAMAGED, "damaged")

enum push_drop {
#define PUSH_DROP(id, name) PUSH_DROP_##id,
	PUSH_DROPS
#undef PUSH_DROP
		PUSH_DROP_COUNT
};

extern const char *const push_drop_names[PUSH_DROP_COUNT];

struct push_backlog_options {
	size_t memory_bytes;
	int64_t max_age_ns;     /* older ones are dropped; 0: none is */
	const char *spool_path; /* NULL: no spool */
	uint64_t spool_bytes;   /* on disk */
	int64_t spool_retry_ns; /* between two tries to open it, or to write to it */
};

/* Since it was made; what waits is now, with what is taken. */
struct push_backlog_counts {
	uint64_t dropped[PUSH_DROP_COUNT];
	size_t waiting;
	size_t waiting_bytes; /* in memory, and on disk */
	size_t spool_waiting; /* of these, on disk */
	uint64_t spool_bytes;
	int64_t oldest_unix_ns;
	bool is_spooling; /* the spool takes what comes */
};

struct push_backlog;

/* The texts of the options outlive it. */
struct push_backlog *push_backlog_new(const struct push_backlog_options *options)
	__attribute__((returns_nonnull));

/*
 * What still waits goes to the spool, if there is one; gives how many were lost, and how
 * many wait there for the next process.
 */
void push_backlog_free(struct push_backlog *backlog, size_t *out_lost, size_t *out_kept);

/* A copy of the bytes waits. */
void push_backlog_add(struct push_backlog *backlog, struct str request);

/* Something that was no push yet is lost. */
void push_backlog_count_drop(struct push_backlog *backlog, enum push_drop why);

struct push_backlog_counts push_backlog_counts(struct push_backlog *backlog);

/* Nothing more comes. All that waits goes to the spool now. */
void push_backlog_close(struct push_backlog *backlog);

/* ---- the thread that delivers ---- */

/* One that is taken: its bytes are the backlog's until it is settled. */
struct push_taken {
	struct str request;
	int64_t time_unix_ns;
};

/* Waits for the oldest and takes it; false: the backlog is closed, and empty. */
bool push_backlog_take(struct push_backlog *backlog, struct push_taken *out);

/* What is taken is delivered or refused. */
void push_backlog_settle(struct push_backlog *backlog);

/* Whether what is taken is too old by now: then it is dropped, and settled. */
bool push_backlog_expire(struct push_backlog *backlog);

/* What is taken could not be delivered: all that waits is made safe. */
void push_backlog_secure(struct push_backlog *backlog);
