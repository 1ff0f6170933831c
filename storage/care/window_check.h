/*
 * Whether one window's file is whole: every page decodes, every reference has its target,
 * and what the format promises holds.
 *
 * Shape    a table of checks, in which each stands for a table of the file; what is
 *          damaged is told, and the rest is checked all the same. One read transaction:
 *          also beside a writer.
 * Errors   damage is none: -1 when it could not be checked (ERROR_UNAVAILABLE:
 *          locked, no memory).
 * Threads  none.
 * Source   docs/formats/store.md
 */
#pragma once

#include "base/error.h"
#include "storage/care/damage_report.h"
#include "storage/database.h"

struct window_check_options {
	const char *file;   /* its name in reports */
	const char *folder; /* of its tenant, which it must say too; NULL: not compared */
	int32_t day;        /* likewise */
	const struct damage_report *report;
	/* bytes that were looked at; may be NULL */
	void (*read)(void *context, uint64_t bytes);
	void *context;
};

struct window_check_counts {
	uint64_t damaged;
	uint64_t profiles;
	uint64_t rows;
	uint64_t pages;
};

/* Adds to *counts. */
int window_check_run(struct database *database, const struct window_check_options *options,
                     struct window_check_counts *counts, struct error *err);

/* The same for a tenant's settings. */
int settings_check_run(struct database *database, const struct window_check_options *options,
                       struct window_check_counts *counts, struct error *err);
