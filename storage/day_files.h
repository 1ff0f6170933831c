/*
 * What lies in a store's folder: a tenant's files day by day, and the rest.
 *
 * Units    bytes are those that the file system gave (blocks), so that a sparse tail is
 *          not counted.
 * Threads  none.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "storage/window_name.h"

struct day_files {
	char folder[TENANT_FOLDER_SIZE];
	int32_t day;
	uint64_t bytes;
};

struct day_files_list {
	struct day_files *days; /* the oldest first */
	size_t count;
	size_t capacity;
	uint64_t bytes; /* of everything, but for what follows */
	uint64_t
		passing_bytes; /* of files that are to take the place of others, most often larger ones */
	uint64_t wal_bytes;
};

int day_files_list(const char *path, struct day_files_list *out, struct error *err);
void day_files_list_fini(struct day_files_list *list);

/*
 * Unlinks a tenant's files of a day: databases first, so that no log is left without one.
 */
int day_files_unlink(const char *path, const char *folder, int32_t day, struct error *err);
