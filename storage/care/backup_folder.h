/*
 * A folder of backups: one a folder below it, named by the time when it was begun.
 *
 * Shape    BACKUPS marks it, has the key of the store whose backups they are, and is locked
 *          by the one who adds. A backup gets its name when it is whole; what is not is
 *          named .incoming-*, and removed by whoever adds next.
 * Errors   ERROR_NOT_FOUND where there is no backup; ERROR_INVALID for a folder with other
 *          things in it, or with backups of another store; ERROR_UNAVAILABLE while somebody
 *          else adds.
 * Threads  none.
 * Source   docs/formats/backup.md
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define BACKUP_NAME_SIZE 32

struct backup_folder {
	char *path;
	int lock_fd;                     /* -1: a reader */
	char (*names)[BACKUP_NAME_SIZE]; /* of those that are whole, the oldest first */
	size_t count;
	size_t capacity;
};

/* For adding: made when it is not there. */
int backup_folder_open(const char *path, uint64_t key, struct backup_folder *out,
                       struct error *err);

/* For reading. */
int backup_folder_list(const char *path, struct backup_folder *out, struct error *err);

/* Fine on a zeroed one. */
void backup_folder_close(struct backup_folder *folder);

/* Where a backup that is begun now is built; free() it. */
char *backup_folder_begin(struct backup_folder *folder, int64_t now_unix_ns,
                          char out_name[static BACKUP_NAME_SIZE], struct error *err);

/* It is whole: gives it its name. */
int backup_folder_finish(struct backup_folder *folder, const char *building, const char *name,
                         struct error *err);

/* Removes the oldest but `keep`. */
int backup_folder_prune(struct backup_folder *folder, size_t keep, size_t *out_removed,
                        struct error *err);

/* The path of the newest backup of a folder, or the folder itself if it is one; free() it. */
int backup_folder_find(const char *path, char **out, struct error *err);
