/*
 * One window's SQLite file: its tables, and that it is one of ours.
 *
 * Errors   ERROR_CORRUPT for a file that is damaged or no window; ERROR_INVALID for one
 *          of a newer format; ERROR_NOT_FOUND for one that is not there or still without
 *          tables (a reader beside a writer).
 * Threads  as storage/database.h
 * Source   docs/formats/store.md, "A window file"
 */
#pragma once

#include "storage/database.h"
#include "storage/sqlite_store.h"

#define WINDOW_FORMAT_BLOCKS 2 /* of user_version: from there on a file has tables of blocks */

struct window_file_options {
	const char *path;
	struct str tenant;
	int32_t day;
	enum sqlite_store_sync sync;
};

/* For writing; made when it is not there. */
int window_file_open(const struct window_file_options *options, struct database **out,
                     struct error *err);

/*
 * The tables of blocks, within the caller's transaction; nothing when they are there. The
 * file has the later format then.
 */
int window_file_add_blocks(struct database *database, struct error *err);

/* For reading, also beside a writer in another process. */
int window_file_open_to_read(const char *path, struct database **out, struct error *err);

/* For reading a file that nobody writes, such as one of a backup: nothing is left beside it. */
int window_file_open_still(const char *path, struct database **out, struct error *err);
