/*
 * One check of a window under way: what its parts share. For storage/care/window_check.c
 * and the checks that it lists.
 *
 * Shape    a check returns -1 when its table cannot be read on: that is damage as well,
 *          told by whoever runs it. Symbols and series that do not decode are stood in
 *          for, so that what refers to them, and what comes behind them, can be checked.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>

#include "storage/care/id_owners.h"
#include "storage/care/window_check.h"
#include "storage/sample_page.h"
#include "storage/series_index.h"
#include "storage/symbol_table.h"

/* Stand-ins in a row; what asks for more comes from damaged numbers. */
#define STAND_INS_MAX (UINT32_C(1) << 22)

struct window_checker {
	struct database *database;
	const struct window_check_options *options;
	struct window_check_counts *counts;
	struct arena *arena; /* of one body; reset by whoever decodes */
	struct symbol_table *symbols;
	struct series_index *series;

	/* what could not be read to its end: then nothing follows from an id that is too large */
	bool lacks_stacks;
	bool lacks_series;
	bool lacks_groups;
	bool lacks_profiles;
	bool lacks_blocks;
	bool lost_series; /* some have stand-ins: families are not known */
	bool has_blocks;  /* the file has tables of them */

	struct id_owners samples; /* that profiles name */
	struct id_owners bodies;  /* that blocks name */
};

/* Tells of damage; `where` may be NULL. */
void window_checker_tell(struct window_checker *checker, const char *table, const char *where,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

void window_checker_read(struct window_checker *checker, uint64_t bytes);

/* storage/care/symbol_check.c, series_check.c, profile_check.c, block_check.c, owner_check.c */
int symbol_check(struct window_checker *checker, struct error *err);
int series_check(struct window_checker *checker, struct error *err);
int group_check(struct window_checker *checker, struct error *err);
int profile_check(struct window_checker *checker, struct error *err);
int block_check(struct window_checker *checker, struct error *err);
int sample_check(struct window_checker *checker, struct error *err);
int block_page_check(struct window_checker *checker, struct error *err);
