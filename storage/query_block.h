/*
 * One block of a window, as a query looks at it: which of its profiles are meant, and its
 * bodies.
 *
 * Shape    a pick is what one run wants of the block. A block that no pick cuts need not
 *          be opened to know its profiles; of one that is cut, heads say which are meant.
 *          What is decoded lives until the next block, or, when there are several parts
 *          that would read it again, as long as the window is looked at.
 * Errors   as storage/block_table.h; ERROR_CORRUPT also for a stack that the window does not
 *          have.
 * Threads  the caller's.
 * Source   docs/formats/store.md, "Blocks"
 */
#pragma once

#include "storage/block_detail.h"
#include "storage/block_heads.h"
#include "storage/block_sums.h"
#include "storage/query.h"

struct query_pick {
	size_t run;
	uint32_t group;             /* its place in the block */
	struct block_span profiles; /* known after query_block_heads() */
};

/* What is kept of a block between the parts of a query. */
struct query_opened {
	const struct block_heads *heads;
	const struct block_sums *sums;
	const struct query_block_rows *rows; /* of all profiles and all columns that are wanted */
};

struct query_block {
	const struct block_row *row;
	struct query_pick *picks; /* by group; none has no profiles */
	size_t pick_count;
	bool is_cut; /* heads decide what the picks are, perhaps nothing */
	const struct block_heads *heads;
	struct query_opened *opened; /* NULL: nothing is kept */
};

/* Whether the filter asks for profiles by their ids. */
bool query_filters_profiles(const struct query *query);

/*
 * Reads heads and makes the picks exact: their profiles are in range and pass the filter
 * on profiles. A run may have several picks then, or none.
 */
int query_block_heads(struct query *query, struct query_window *window, struct query_block *block,
                      struct error *err);

int query_block_sums(struct query *query, struct query_window *window, struct query_block *block,
                     const struct block_sums **out, struct error *err);

int query_block_detail(struct query *query, struct query_window *window, struct query_block *block,
                       struct block_detail *out, struct error *err);

/*
 * The rows of the picks' profiles, after query_block_heads(), with the columns that the
 * picks' runs want.
 */
struct query_block_rows {
	struct block_rows rows;
	const uint32_t *places;  /* of each profile of the block among those of `rows` */
	const uint32_t *columns; /* place of each column of the family in rows.values */
};
int query_block_rows(struct query *query, struct query_window *window, struct query_block *block,
                     const struct query_block_rows **out, struct error *err);
