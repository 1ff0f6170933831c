/*
 * Pushes that wait in a folder, one file each, in order; they are there after a crash.
 *
 * Shape    a file is written under another name and renamed: one that has a push's name is
 *          whole, whenever the process is killed. It goes when its push is settled. What is
 *          not synced yet a power cut may take or damage; a check finds that. The bound
 *          counts whole blocks, and over it the oldest are dropped.
 *          Nothing is touched in the folder that has not one of our names, or is no
 *          regular file.
 * Units    bytes on disk, in blocks of SPOOL_BLOCK_BYTES.
 * Errors   of opening: ERROR_UNAVAILABLE when another process has the folder,
 *          ERROR_FORBIDDEN when others may look into it, ERROR_INVALID for what is no
 *          folder, ERROR_IO. Of appending: ERROR_NO_SPACE, ERROR_TOO_LARGE, ERROR_IO.
 * Threads  one appends and syncs, one takes and settles, any asks for counts: that waits
 *          for no disk.
 * Source   docs/formats/spool.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "server/push/spool_file.h"

#define SPOOL_BLOCK_BYTES 4096
#define SPOOL_FILES_USUAL ((size_t)1 << 16) /* a push a second, for 18 hours */
#define SPOOL_FILE_MAX    (SPOOL_HEAD_BYTES + SPOOL_REQUEST_MAX)

struct push_spool_options {
	const char *path;   /* made if it is missing, but not the folder above it */
	uint64_t max_bytes; /* one push may be larger: then it is alone */
	size_t max_files;   /* 0: SPOOL_FILES_USUAL */
	int64_t max_age_ns; /* 0: for ever */
};

/* Since it was opened; `waiting` is now, without what is taken. */
struct push_spool_counts {
	size_t waiting;
	uint64_t waiting_bytes; /* on disk */
	uint64_t held_bytes;    /* on disk, of what is taken; 0: nothing is */
	int64_t oldest_unix_ns; /* 0: nothing waits */
	uint64_t dropped_full;
	uint64_t dropped_old;
	uint64_t dropped_damaged; /* and those that somebody else has removed */
};

struct push_spool;

/* Of a push that came then; never when max_age_ns is 0. */
bool push_is_too_old(int64_t time_unix_ns, int64_t max_age_ns);

/* What an earlier process has left waits again. *options must outlive it. */
int push_spool_open(const struct push_spool_options *options, struct push_spool **out,
                    struct error *err);

/* Files stay. NULL is fine. */
void push_spool_close(struct push_spool *spool);

static inline void push_spool_closep(struct push_spool **spool)
{
	push_spool_close(*spool);
}

/* ---- one thread ---- */

/*
 * Behind what waits. `number` is the caller's count of pushes, from 0, and grows from one
 * append to the next; what an earlier process has left comes before all of them.
 */
int push_spool_append(struct push_spool *spool, uint64_t number, int64_t time_unix_ns,
                      struct str request, struct error *err);

/*
 * Writes the file of a push that comes before those that were appended. It is for the next
 * process: this one does not take it.
 */
int push_spool_keep(struct push_spool *spool, uint64_t number, int64_t time_unix_ns,
                    struct str request, struct error *err);

/* From now on a power cut takes nothing of what waits. */
int push_spool_sync(struct push_spool *spool, struct error *err);

/* ---- another one ---- */

/*
 * 1 with the oldest that is whole and young enough; it is held, and its file stays until it
 * is settled. 0: nothing waits. -1: it cannot be read now, and waits on. Its file is read
 * into `bytes`, and *out_request is a view of them.
 */
int push_spool_take(struct push_spool *spool, struct strbuf *bytes, struct str *out_request,
                    int64_t *out_time_unix_ns, struct error *err);

/* Delivered, or given up: the file of what is held goes. */
int push_spool_settle(struct push_spool *spool, struct error *err);

/* ---- any ---- */

struct push_spool_counts push_spool_counts(struct push_spool *spool);
