/*
 * Files of this machine, below a folder that is its root or shows it.
 *
 * Shape    paths are those of the machine: links are followed as it would follow them, and
 *          lead nowhere out of that folder. Only regular files are read.
 * Units    bytes.
 * Errors   opening: ERROR_IO. What cannot be read afterwards is not there: false.
 * Threads  any number may read.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/strbuf.h"

struct host_files {
	int root; /* -1: nothing is there */
};

int host_files_open(const char *root, struct host_files *out, struct error *err);

/* Twice is once. */
void host_files_close(struct host_files *files);

/* What kind of file it is, of which size and time; false when it is not there. */
bool host_files_status(const struct host_files *files, const char *path, struct stat *out);

/* Appends the whole file; false when it is not there, or larger than the buffer's limit. */
bool host_files_read(const struct host_files *files, const char *path, struct strbuf *out);

/* The same of a path in which nothing is a link. */
bool host_files_read_plain(const struct host_files *files, const char *path, struct strbuf *out);

/*
 * Calls visit() for the names in a folder, but for "." and "..", at most `limit` of them,
 * until it says true. False when it never did.
 */
bool host_files_each(const struct host_files *files, const char *folder, size_t limit,
                     bool (*visit)(void *context, struct str name), void *context);
