/*
 * The writes that are committed together.
 *
 * Shape    each write's profiles go to the windows of their days; each touched window
 *          commits once. A window that fails takes down the writes that touched it, and
 *          no other.
 * Threads  the writer thread only.
 */
#pragma once

#include "storage/open_windows.h"
#include "storage/store.h"

struct batch_write {
	struct store_write *write;
	struct error err; /* ERROR_NONE: committed */
};

struct batch_counts {
	uint64_t stored;
	uint64_t duplicates;
	uint64_t commits;
};

/*
 * Adds and commits the writes whose err.code is not ERROR_NONE; what fails gets its
 * error.
 */
void batch_run(struct open_windows *windows, struct batch_write *writes, size_t count,
               int64_t now_unix_ns, struct batch_counts *counts);
