/*
 * A file of this machine that is asked for often: read again only when it is another one, or
 * has changed.
 *
 * Units    bytes.
 * Errors   none: what cannot be read, or is larger than the limit, has no text.
 * Threads  none.
 */
#pragma once

#include <sys/stat.h>

#include "collector/identity/host_files.h"

struct kept_file {
	struct strbuf text;
	struct stat status; /* of what was read; st_nlink 0: nothing was */
	uint64_t reads;     /* since the start */
};

void kept_file_init(struct kept_file *kept, size_t limit_bytes);

/* Twice is once. */
void kept_file_fini(struct kept_file *kept);

/* Its text as it is now, until the next call. */
struct str kept_file_text(struct kept_file *kept, const struct host_files *files, const char *path);
