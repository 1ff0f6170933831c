/*
 * The rows of some profiles of a block, by profile again: for scans, and for taking a block
 * apart.
 *
 * Shape    columns of one row each, profile after profile, stacks ascending within each. A
 *          pass that counts and one that fills: its cost is that of the whole block, its
 *          memory that of what is asked for.
 * Errors   ERROR_CORRUPT for a damaged block; arena_error() when the arena is full.
 * Threads  none.
 */
#pragma once

#include "storage/block_detail.h"

struct block_rows {
	uint32_t profile_count;                    /* of the spans, one after the other */
	const uint32_t *firsts;                    /* profile_count + 1 */
	const uint32_t *stacks;                    /* one a row: ascending within a profile */
	int64_t **values;                          /* by series asked for, one a row */
	const uint64_t *span_ids;                  /* 0: none; NULL: no row of the block has one */
	const uint8_t (*trace_ids)[TRACE_ID_SIZE]; /* zero: none; NULL likewise */
};

/* Rows of equal stack and profile are in the order in which they came. */
int block_detail_rows(const struct block_detail *detail, const struct block_span *spans,
                      size_t span_count, const uint32_t *series, size_t series_count,
                      struct arena *arena, struct block_rows *out, struct error *err);
