/*
 * What a backup consists of: its file BACKUP, which is written last.
 *
 * Shape    text, a line a file; the last line has the number of files and a check of what
 *          stands before it. A folder without it is no backup.
 * Errors   ERROR_CORRUPT for what backup_manifest_write() did not write, ERROR_NOT_FOUND
 *          where there is none, ERROR_INVALID for a newer format.
 * Threads  none.
 * Source   docs/formats/backup.md
 */
#pragma once

#include "base/hash.h"
#include "storage/care/file_stamp.h"
#include "storage/care/store_listing.h"

#define BACKUP_FORMAT 1

struct backup_file {
	struct listed_file listed; /* with the bytes of the copy */
	struct hash128 hash;       /* of the copy */
	struct file_stamp stamp;   /* of what was copied */
};

struct backup_manifest {
	int64_t made_unix_ms; /* when it was begun: what was answered before is in it */
	uint64_t key;         /* of the store */
	struct backup_file *files;
	size_t count;
	size_t capacity;
	uint64_t bytes;
};

void backup_manifest_fini(struct backup_manifest *manifest);

void backup_manifest_add(struct backup_manifest *manifest, const struct backup_file *file);

/* The file of that name, or NULL. */
const struct backup_file *backup_manifest_find(const struct backup_manifest *manifest,
                                               const char *name);

/* Of the folder of a backup. */
int backup_manifest_write(const struct backup_manifest *manifest, const char *folder,
                          struct error *err);
int backup_manifest_read(const char *folder, struct backup_manifest *out, struct error *err);

/* The bytes of such a file; names are those that a store gives. */
int backup_manifest_parse(struct str text, struct backup_manifest *out, struct error *err);
