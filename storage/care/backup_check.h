/*
 * Whether backups are whole: each file is there, has the bytes that were backed up, and
 * passes the checks of a store's.
 *
 * Shape    a backup, or a folder of them; a file that several of them share is read once.
 * Errors   as storage/care/store_check.h; ERROR_NOT_FOUND where there is no backup.
 * Threads  none.
 */
#pragma once

#include "storage/care/store_check.h"

int backup_check_run(const struct store_check_options *options, struct store_check_counts *counts,
                     uint64_t *out_backups, struct error *err);

/* Whether a folder is a backup or has some below it. */
bool backup_check_knows(const char *path);
