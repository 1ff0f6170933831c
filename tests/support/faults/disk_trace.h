/*
 * What was changed on disk, in order, for a test that cuts the power afterwards.
 *
 * Shape    a file of records, each a struct disk_record and then path_bytes of a path,
 *          other_bytes of the path that it became, and `bytes` that were written. A change
 *          and its record are one step: disk_trace_begin() keeps all others out until
 *          disk_trace_end().
 * Threads  any
 * Source   tests/support/power_cut.py reads it
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum disk_change {
	DISK_CHANGE_OPEN, /* path, fd, flags */
	DISK_CHANGE_CLOSE,
	DISK_CHANGE_WRITE,    /* fd, offset, bytes */
	DISK_CHANGE_TRUNCATE, /* fd, offset: the new length */
	DISK_CHANGE_SYNC,
	DISK_CHANGE_RENAME,
	DISK_CHANGE_UNLINK,
	DISK_CHANGE_MAKE_FOLDER,
};

struct disk_record {
	uint32_t change;
	int32_t fd;
	uint32_t flags;
	uint32_t path_bytes;
	uint32_t other_bytes;
	uint32_t unused;
	uint64_t offset;
	uint64_t bytes;
};

void disk_trace_begin(void);

/* Writes the record when the change was made, and lets others go on. */
struct disk_event {
	enum disk_change change;
	int fd;
	int flags;
	const char *path;  /* or NULL */
	const char *other; /* or NULL */
	off_t offset;
	const void *bytes;
	size_t length;
};
void disk_trace_end(const struct disk_event *event, int is_made);
