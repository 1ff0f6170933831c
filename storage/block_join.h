/*
 * One block made of several of the same family and hour: late profiles left parts that are
 * small, and each has its own list of stacks, sums and ids.
 *
 * Shape    parts are taken as long as they fit one block, in their order. Origins are left
 *          out: nobody sends these profiles again.
 * Errors   as storage/block_contents.h and storage/block_builder.h
 * Threads  none.
 * Source   docs/formats/store.md, "Blocks"
 */
#pragma once

#include "storage/block_table.h"

#define BLOCK_JOIN_PARTS 16 /* of one block; their contents stand in memory together */

/* How many of the listing's blocks from `first` on may become one: 1 when none goes with it. */
size_t block_join_count(const struct block_listing *listing, size_t first);

/* What is joined, and with what memory. */
struct block_join_parts {
	struct block_table *table;
	const struct block_row *rows; /* that stand side by side */
	size_t count;
	struct arena *kept;    /* of the new row's groups */
	struct arena *scratch; /* of everything else */
	struct budget *budget; /* or NULL */
};

struct block_joined {
	bool fits;            /* else they are too large together, and nothing follows */
	struct block_row row; /* its part is that of the first; its bodies have no ids */
	struct block_bodies bodies;
};

/* block_bodies_fini() in any case. */
int block_join_make(const struct block_join_parts *parts, struct block_joined *out,
                    struct error *err);
