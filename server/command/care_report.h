/*
 * What verify, backup and restore say: damaged things on standard output, a line each, and
 * how far they are on standard error.
 *
 * Threads  none.
 */
#pragma once

#include "server/command/progress_line.h"
#include "storage/care/store_check.h"

struct care_report {
	struct progress_line line;
	struct damage_report damage; /* for the store; tells here */
	struct care_progress progress;
};

void care_report_begin(struct care_report *report, const char *verb, enum progress_line_mode mode);
void care_report_end(struct care_report *report);

/* "3 windows, 1,234 profiles, 45 pages, 1.2 GiB: " and what is wrong with them. */
void care_report_sum(const struct store_check_counts *counts, struct strbuf *out);

/* Whether anything is: damaged, or set aside. */
bool care_report_is_whole(const struct store_check_counts *counts);

/* The folder of a server's store when nobody says where it is: -storage.path's default. */
const char *care_report_store(const char *named);
