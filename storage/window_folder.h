/*
 * What lies in the folder of all tenants: their folders, and in each the files of windows.
 *
 * Shape    listed, never opened. What else lies there is passed over.
 * Errors   ERROR_IO when a folder cannot be read to its end; one that is not there is empty.
 * Threads  none.
 * Source   docs/formats/store.md, "The folder"
 */
#pragma once

#include "base/folder.h"
#include "storage/window_list.h"

struct window_folder_file {
	const char *name;
	struct window_place place;
	const char *rest; /* of the name, behind that of a window; "" for a window */
	uint64_t inode;
	int folder_fd;
};

/* Calls visit for each regular file whose name begins as that of a window. */
int window_folder_files(const char *path, const char *folder,
                        void (*visit)(void *context, const struct window_folder_file *file),
                        void *context, struct error *err);

/* Calls visit for each folder of a tenant, below `tenants`, until one fails. */
int window_folder_tenants(const char *path,
                          int (*visit)(void *context, const struct folder *tenants,
                                       const char *name, struct error *err),
                          void *context, struct error *err);
