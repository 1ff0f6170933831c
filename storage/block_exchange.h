/*
 * A block comes in the place of fresh rows, and of smaller blocks of its hour.
 *
 * Shape    deletes exactly what the block was made of: rows that came later have samples
 *          of larger ids; when rows or blocks have gone meanwhile, nothing is done.
 * Errors   ERROR_UNAVAILABLE: what the block stands for has changed, or is gone;
 *          else as storage/database.h. The caller gives the transaction up then.
 * Threads  the writer thread only, within its transaction.
 * Source   docs/formats/store.md, "Blocks"
 */
#pragma once

#include "storage/block_table.h"

/* Rows of one group from a time on, up to (last_unix_ns, last_seq). */
struct exchange_rows {
	uint32_t group;
	int64_t first_unix_ns;
	int64_t last_unix_ns;
	int64_t last_seq;
};

struct block_exchange {
	struct block_row row; /* its part is given then */
	const struct block_bodies *bodies;
	const struct exchange_rows *rows;
	size_t rows_count;
	int64_t last_sample;   /* the largest id of the rows' samples */
	int64_t profile_count; /* of the rows */
	const struct block_row *old;
	size_t old_count;
};

int block_exchange_run(struct database *database, struct block_table *blocks,
                       struct block_exchange *exchange, struct error *err);
