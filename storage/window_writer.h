/*
 * The writing side of one window: interns, encodes and inserts profiles, and commits them
 * together.
 *
 * Shape    opened with the first profile of a window, closed when it has been idle. A
 *          transaction begins with the first profile after a commit. When anything in it
 *          fails the transaction is given up; symbols that were added in memory stay and
 *          are written by the next commit.
 * Errors   as storage/database.h; ERROR_TOO_LARGE when a profile does not fit.
 * Threads  the writer thread only.
 */
#pragma once

#include "storage/block_exchange.h"
#include "storage/interner.h"
#include "storage/sqlite_store.h"
#include "storage/window.h"

struct window_writer;

/* Holds nothing itself: the caller holds the window for as long. */
int window_writer_open(struct window *window, struct str tenant, enum sqlite_store_sync sync,
                       struct window_writer **out, struct error *err);

/* Moves the log into the file. What was not committed is gone. */
void window_writer_close(struct window_writer *writer);

enum window_writer_added {
	WINDOW_WRITER_STORED,
	WINDOW_WRITER_DUPLICATE, /* an equal one of the last 24 hours is there */
};

int window_writer_add(struct window_writer *writer, const struct series_profile *profile,
                      const struct profile_hashes *hashes, int64_t now_unix_ns,
                      enum window_writer_added *out, struct error *err);

bool window_writer_is_dirty(const struct window_writer *writer);
int window_writer_commit(struct window_writer *writer, struct error *err);
void window_writer_rollback(struct window_writer *writer);

/* Moves the log when it has grown; done after answers have been given. */
int window_writer_tend(struct window_writer *writer, struct error *err);

/*
 * Deletes fresh profiles of one group within times, at most `limit` rows, in the
 * transaction that is open or begins. keep[i] says which of the group's series stay (none:
 * NULL); profile_ids narrow it down. *out_rows counts what was looked at: below the limit
 * there are no more.
 */
struct window_removal {
	uint32_t family;
	uint32_t group;
	int64_t start_unix_ns;
	int64_t end_unix_ns;
	const bool *keep;
	size_t going; /* series that do not stay */
	const struct sample_filter *filter;
	size_t limit;
	/* where the next call goes on; zeroed at first */
	int64_t time_unix_ns;
	int64_t seq;
	bool within;
	/* the window writer's own: the group of what stays */
	uint32_t target;
	uint32_t target_family;
};
int window_writer_remove(struct window_writer *writer, struct window_removal *removal,
                         size_t *out_rows, size_t *out_removed, struct error *err);

/*
 * The same for what is in blocks: looks at one block, the next of a family in which some
 * of the runs (by group) may have profiles.
 */
struct block_removal {
	uint32_t family;
	struct window_removal *runs;
	size_t run_count;
	/* where the next call goes on; zeroed at first */
	int64_t hour;
	int64_t part;
	bool within;
};
struct block_removed {
	bool done;        /* there was no block any more */
	uint64_t removed; /* profiles, each once for every series that goes */
};
int window_writer_remove_blocks(struct window_writer *writer, struct block_removal *removal,
                                struct block_removed *out, struct error *err);

/*
 * Puts a block in the place of what it was made of, and commits. On an error, such as
 * ERROR_UNAVAILABLE when that has changed meanwhile, nothing has happened.
 */
int window_writer_exchange(struct window_writer *writer, struct block_exchange *exchange,
                           struct error *err);
