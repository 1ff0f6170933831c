/*
 * Makes a backup of a store while a server writes it.
 *
 * Shape    a folder of its own each time, named by the moment when it was begun: every
 *          profile that was answered before is in it. A file that did not change since the
 *          backup before is linked, not copied. Copies are checked (storage/care/
 *          window_check.h) before the backup gets its name; what cannot be copied, or is
 *          damaged, is told, and the rest is backed up.
 * Errors   as storage/care/backup_folder.h; ERROR_NO_SPACE. Then there is no new backup.
 * Threads  none.
 * Source   docs/formats/backup.md
 */
#pragma once

#include "storage/care/backup_folder.h"
#include "storage/care/store_check.h"

struct store_backup_options {
	const char *store;
	const char *target;
	size_t keep;        /* backups, the new one included; 0: all */
	bool leaves_checks; /* copies are not checked */
	const struct damage_report *report;
	const struct care_progress *progress; /* or NULL */
};

struct store_backup_counts {
	char name[BACKUP_NAME_SIZE]; /* of the new one */
	struct store_check_counts checked;
	uint64_t files;
	uint64_t linked;
	uint64_t bytes;
	uint64_t linked_bytes;
	uint64_t lost;  /* files that could not be copied */
	size_t removed; /* old backups */
	bool kept_all;  /* nothing old was removed since something is damaged */
};

int store_backup_make(const struct store_backup_options *options, struct store_backup_counts *out,
                      struct error *err);
