/*
 * How long and how much: unlinks whole days, the oldest first, over all tenants.
 *
 * Shape    works on files as they lie in the folder, so that what a crash or a damaged
 *          window left counts and goes too. By age: days that ended that long ago. By
 *          bytes: while everything together is over the budget, but never today nor the
 *          only day that is left; what is to take the place of another file, soon, counts
 *          when it has.
 * Threads  the writer thread only (or before it runs).
 */
#pragma once

#include "storage/window_set.h"

struct retention {
	const char *path;   /* of the store */
	int64_t age_ns;     /* 0: for ever */
	uint64_t max_bytes; /* never 0 */
};

/* Bytes on disk, everything counted. */
struct disk_usage {
	uint64_t bytes;
	uint64_t wal_bytes;
};
int disk_usage_measure(const char *path, struct disk_usage *out, struct error *err);

/* 80 % of what is free plus what is ours. */
int retention_default_bytes(const char *path, uint64_t *out, struct error *err);

/* Called before a window's files are unlinked: closes what the writer has open. */
typedef void (*retention_closer)(void *context, struct window *window);

struct retention_result {
	size_t days_deleted; /* a tenant's day each */
	uint64_t bytes;      /* that are left */
};
int retention_run(const struct retention *retention, struct window_set *set, int64_t now_unix_ns,
                  retention_closer close, void *context, struct retention_result *out,
                  struct error *err);
