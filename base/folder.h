/*
 * One folder while it is listed.
 *
 * Shape    names come in no order; "." and ".." are left out. A folder that is not there is
 *          an empty one. A listing that ends early is told from one that ends: who counts,
 *          copies or removes what is there must not take a part for the whole.
 * Errors   ERROR_IO; ERROR_INVALID for a link where none is followed.
 * Threads  none: one thread at a time.
 */
#pragma once

#include <dirent.h>

#include "base/cleanup.h"
#include "base/error.h"

struct folder {
	DIR *directory; /* NULL: there is none */
	char *path;     /* for what is said of it */
};

/* Links on the way are followed. */
int folder_open(const char *path, struct folder *out, struct error *err);

/* A folder in another one; no link is followed. What is no folder is not there. */
int folder_open_below(const struct folder *above, const char *name, struct folder *out,
                      struct error *err);

/* Fine on a zeroed one. */
void folder_close(struct folder *folder);

/* 1 and the next entry, which stays until the next call; 0 at the end. */
int folder_next(const struct folder *folder, const struct dirent **out, struct error *err);

/* From the beginning again. */
void folder_rewind(const struct folder *folder);
