/*
 * Makes a store of a backup, or brings single windows of it back into one.
 *
 * Shape    nobody may hold the folder meanwhile. Everything is copied beside what is there,
 *          compared with the hashes of the backup and checked, and takes its place only
 *          then; a folder whose restore was stopped says so, and the next restore begins
 *          anew. Windows that are brought back take the name that they had, or the day's
 *          next number where that is taken.
 * Errors   ERROR_UNAVAILABLE while the folder is in use; ERROR_EXISTS for one that is not
 *          empty; ERROR_CORRUPT for a backup that is damaged: the folder is as it was.
 * Threads  none.
 * Source   docs/formats/backup.md
 */
#pragma once

#include "storage/care/store_check.h"

enum store_restore_over {
	STORE_RESTORE_INTO_EMPTY,
	STORE_RESTORE_OVER, /* what is there goes */
};

struct store_restore_options {
	const char *source; /* a backup, or a folder of backups: its newest */
	const char *store;
	enum store_restore_over over;
	const char *const *windows; /* TENANT/DAY or file names; NULL: all of the store */
	size_t window_count;
	const struct damage_report *report;
	const struct care_progress *progress; /* or NULL */
	/* a window that was brought back, and the file that it is now; or NULL */
	void (*restored)(void *context, const char *from, const char *as);
	void *context;
};

struct store_restore_counts {
	char *source; /* the backup that was taken; free() it */
	uint64_t files;
	uint64_t bytes;
	struct store_check_counts checked;
};

int store_restore_run(const struct store_restore_options *options, struct store_restore_counts *out,
                      struct error *err);
