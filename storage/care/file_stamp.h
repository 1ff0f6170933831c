/*
 * What tells, without reading it, that a database's file is the one that was copied before.
 *
 * Shape    the inode, its size, and when bytes and inode were changed last. A file with a
 *          log beside it, or one that was changed just now, has no stamp: then the next
 *          change might not show.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "base/strbuf.h"

struct file_stamp {
	bool is_known;
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t modified_ns;
	int64_t changed_ns;
};

/* Of a file at a moment; not known when there is none. */
struct file_stamp file_stamp_of(const char *path, int64_t now_unix_ns);

/* Both known and equal. */
bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b);

/* One word. */
void file_stamp_format(const struct file_stamp *stamp, struct strbuf *out);
bool file_stamp_parse(struct str word, struct file_stamp *out);
