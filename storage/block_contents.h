/*
 * All of a block in memory, profile by profile: for taking it apart, or together with others.
 *
 * Errors   as storage/block_table.h; arena_error() when the arena is full.
 * Threads  none.
 */
#pragma once

#include "storage/block_table.h"

struct block_contents {
	struct block_heads heads;
	uint32_t series_count;
	int64_t *seqs; /* a column each profile, as what follows */
	int64_t *durations;
	int64_t *received;
	const struct hash128 *origins; /* NULL: no profile has one */
	int64_t **totals;              /* a column each series */
	struct block_rows rows;        /* with all series */
};

/* Everything lives in the arena. */
int block_contents_read(struct block_table *table, const struct block_row *row, struct arena *arena,
                        struct block_contents *out, struct error *err);

/* The group at `group_index` of heads has [firsts[i], firsts[i + 1]). */
uint32_t block_contents_group(const struct block_contents *contents, uint32_t profile);

/* What is known of a profile; `totals` has room for one a series. */
void block_contents_profile(const struct block_contents *contents, uint32_t profile,
                            int64_t *totals, struct block_profile *out);

/* Both as a fresh profile has them, in `scratch`. */
int block_contents_take(const struct block_contents *contents, uint32_t profile,
                        struct arena *scratch, struct block_profile *out,
                        struct sample_page *out_page, struct error *err);

/* Its samples; `values` has room for one a series. */
void block_contents_samples(const struct block_contents *contents, uint32_t profile,
                            const int64_t **values, struct sample_columns *out);
