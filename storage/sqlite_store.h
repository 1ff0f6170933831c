/*
 * The store on SQLite files: one a tenant and UTC day of profile time.
 *
 * Source   docs/formats/store.md
 */
#pragma once

#include "base/budget.h"
#include "storage/store.h"

enum sqlite_store_sync {
	/* a killed process loses nothing; a power cut can lose the last commits */
	SQLITE_STORE_SYNC_NORMAL,
	SQLITE_STORE_SYNC_FULL, /* nor does a power cut */
};

struct sqlite_store_options {
	const char *path; /* folder; made when it is not there */
	/*
	 * beside a running server: no writer thread, no lock; append and delete are
	 * refused
	 */
	bool read_only;
	enum sqlite_store_sync sync;
	int64_t retention_ns;    /* age of profile time; 0: for ever */
	uint64_t max_bytes;      /* 0: 80 % of what is free plus what is ours, at each start */
	size_t queue_max_bytes;  /* of waiting writes; 0: 64 MiB */
	size_t queue_max_length; /* 0: 10,000 */
	int64_t idle_ns;         /* a window not written for so long is closed; 0: 5 minutes */
	/*
	 * an hour of profile time that ended, and that nothing came for, so long ago
	 * becomes blocks; 0: 2 minutes, 1: at once
	 */
	int64_t compact_after_ns;
	/*
	 * a day that ended, and whose file nothing was written to, so long ago is sealed;
	 * 0: 24 hours, since senders may try again till then, 1: at once
	 */
	int64_t seal_after_ns;
	bool allow_network_fs;
	size_t threads;        /* that a merge may use; 0: as many as there are processors */
	struct budget *budget; /* caches and tables count here; or NULL */
};

/*
 * Opens or makes the store. ERROR_UNAVAILABLE when another process has it open for
 * writing; ERROR_INVALID for a network file system or a newer format; ERROR_IO with uid,
 * gid and mode when the folder cannot be written.
 */
int sqlite_store_open(const struct sqlite_store_options *options, struct store **out,
                      struct error *err);

/* Puts another age and another number of bytes (0 as above) into force, at any time. */
int sqlite_store_set_retention(struct store *store, int64_t retention_ns, uint64_t max_bytes,
                               struct error *err);

/*
 * Makes all blocks, and seals all windows, that are due now, and waits for it; they are made without it, in time.
 * ERROR_UNAVAILABLE when something that was due changed meanwhile.
 */
int sqlite_store_compact(struct store *store, struct error *err);
