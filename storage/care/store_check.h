/*
 * Whether a store is whole: all windows and settings of its folder.
 *
 * Shape    also beside the server that writes it. What was set aside is told as well: it is
 *          not served.
 * Errors   as storage/care/window_check.h; ERROR_NOT_FOUND for a folder that holds no
 *          store.
 * Threads  none.
 */
#pragma once

#include "storage/care/store_listing.h"
#include "storage/care/window_check.h"

enum store_check_access {
	STORE_CHECK_LIVE,  /* somebody may write */
	STORE_CHECK_STILL, /* nobody does, and nothing may be left beside the files: a backup */
};

struct store_check_options {
	const char *path;
	enum store_check_access access;
	const struct damage_report *report;
	const struct care_progress *progress; /* or NULL */
};

struct store_check_counts {
	struct window_check_counts content;
	uint64_t windows;
	uint64_t set_aside;
	uint64_t bytes;
};

/* Adds to *counts. */
int store_check_run(const struct store_check_options *options, struct store_check_counts *counts,
                    struct error *err);

/* One file of it, by the name that the store gives it; absence is no damage. */
int store_check_file(const struct store_check_options *options, const struct listed_file *file,
                     struct store_check_counts *counts, struct error *err);
