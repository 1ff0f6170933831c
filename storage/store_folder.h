/*
 * The folder of a store: that it may be written, that nobody else writes, and the key
 * that its hashes take.
 *
 * Shape    LOCK is held exclusively by the one writer; STORE is text with the format's
 *          version and the key.
 * Errors   ERROR_UNAVAILABLE when another process writes; ERROR_INVALID for a network
 *          file system or a newer format; ERROR_IO with uid, gid and mode when the folder
 *          cannot be written; ERROR_NOT_FOUND when a reader finds none.
 * Threads  none.
 * Source   docs/formats/store.md, "The folder"
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define STORE_FORMAT 1

/* A folder with one of these is no store that may be written. */
#define STORE_FOLDER_RESTORING "RESTORING" /* a restore into it was not finished */
#define STORE_FOLDER_BACKUP    "BACKUP"    /* it is a backup: its files are others', too */

struct store_folder {
	char *path;
	int lock_fd; /* -1: a reader */
	uint64_t key;
	int64_t last_used_unix_ns; /* for writing, before that; or now */
};

enum store_folder_access {
	STORE_FOLDER_READ,
	STORE_FOLDER_WRITE,
};

enum store_folder_network {
	STORE_FOLDER_LOCAL_ONLY,
	STORE_FOLDER_ANY_FILE_SYSTEM,
};

int store_folder_open(const char *path, enum store_folder_access access,
                      enum store_folder_network network, struct store_folder *out,
                      struct error *err);

/*
 * Makes the folder when it is not there, and holds its LOCK so that no server starts in it;
 * nothing else of a store needs to be there.
 */
int store_folder_hold(const char *path, struct store_folder *out, struct error *err);

/* Writes STORE: from then on the folder is a store with this key. */
int store_folder_write_key(const char *path, uint64_t key, struct error *err);

/*
 * Whether the path still leads to the folder that was opened for writing: one that was
 * removed or moved takes writes that nobody finds again, and whatever stands there now
 * belongs to others. ERROR_IO when not.
 */
int store_folder_check(const struct store_folder *folder, struct error *err);

/* Notes that it is in use now, for whoever opens it next. */
void store_folder_note_use(const struct store_folder *folder, int64_t now_unix_ns);

/* Lets the lock go. Fine on a zeroed one. */
void store_folder_close(struct store_folder *folder);

/* The name of a file system that SQLite's log cannot live on, or NULL. */
const char *store_folder_network_name(uint64_t magic);
