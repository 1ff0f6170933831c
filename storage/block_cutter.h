/*
 * Deleting profiles that are in blocks.
 *
 * Shape    a block whose profiles all go is deleted. One that keeps some, or some series
 *          of them, is taken apart: what stays become fresh rows again, and another
 *          block in time.
 * Errors   as storage/block_table.h and storage/fresh_rows.h. The caller gives the
 *          transaction up then.
 * Threads  the writer thread only, within its transaction.
 * Source   docs/formats/store.md, "Blocks"
 */
#pragma once

#include "storage/block_contents.h"
#include "storage/row_rewriter.h"

/* What it works with: the window writer's own. */
struct block_cutter_parts {
	struct block_table *blocks;
	struct fresh_rows *rows;
	struct profile_places *places;
};

/* Looks at the next block behind removal's place that may have any of the profiles. */
int block_cutter_next(const struct block_cutter_parts *parts, struct block_removal *removal,
                      struct block_removed *out, struct error *err);
