/*
 * Deleting rows: whole profiles, or some series of them.
 *
 * Shape    a row whose series all go is deleted with its samples; of one that keeps some,
 *          the samples are decoded, written anew without the others' columns and put
 *          under the group that is left.
 * Errors   as storage/database.h and storage/sample_page.h
 * Threads  the writer thread only, within its transaction.
 */
#pragma once

#include "storage/fresh_rows.h"
#include "storage/profile_places.h"
#include "storage/window_writer.h"

struct row_rewriter;

/* What it works with: the window writer's own. */
struct row_rewriter_parts {
	struct database *database;
	struct fresh_rows *rows;
	struct profile_places *places;
};

int row_rewriter_new(const struct row_rewriter_parts *parts, struct row_rewriter **out,
                     struct error *err);
void row_rewriter_free(struct row_rewriter *rewriter);
DEFINE_FREEP(row_rewriter)

/* See window_writer_remove(). */
int row_rewriter_remove(struct row_rewriter *rewriter, struct window_removal *removal,
                        size_t *out_rows, size_t *out_removed, struct error *err);
