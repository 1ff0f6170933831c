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

/* Of user_version: */
#define WINDOW_FORMAT_BLOCKS 2 /* from there on a file has tables of blocks */
#define WINDOW_FORMAT_SEALED 3 /* it is never changed; another file may take its place */

struct window_file_options {
	const char *path;
	struct str tenant;
	int32_t day;
	enum sqlite_store_sync sync;
};

/* For writing; made when it is not there. ERROR_UNAVAILABLE for a sealed one. */
int window_file_open(const struct window_file_options *options, struct database **out,
                     struct error *err);

/*
 * The tables of blocks, within the caller's transaction; nothing when they are there. The
 * file has the later format then.
 */
int window_file_add_blocks(struct database *database, struct error *err);

/*
 * Moves what is in the log of a file that nobody has open for writing into it; nothing when
 * there is no log. What readers hold up stays in the log.
 */
int window_file_settle(const char *path, enum sqlite_store_sync sync, struct error *err);

/*
 * A sealed file that is not there yet, without a log, in a transaction that is to be committed
 * when all is in it. It is nobody's until it is whole, and whoever made it syncs it then.
 */
int window_file_create_sealed(const struct window_file_options *options, struct database **out,
                              struct error *err);

/*
 * Makes of a copy of a sealed file one that may be written; it is nobody's, as above, and is
 * synced by whoever made it.
 */
int window_file_unseal(const char *path, struct error *err);

enum window_seal {
	WINDOW_SEAL_UNKNOWN, /* the file could not be read just now */
	WINDOW_UNSEALED,     /* also when there is no file */
	WINDOW_SEALED,
};

/* Looks at the file's numbers alone. */
enum window_seal window_file_seal(const char *path);

/*
 * For reading, also beside a writer in another process; a sealed one without locks, and
 * without files beside it.
 */
int window_file_open_to_read(const char *path, struct database **out, struct error *err);

/* For reading a file that nobody writes, such as one of a backup: nothing is left beside it. */
int window_file_open_still(const char *path, struct database **out, struct error *err);
