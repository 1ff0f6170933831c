/*
 * The profiles of a block that is being made: what came, by profile, and the same by stack.
 *
 * Shape    arrays that grow by half and count in a budget. block_gather_sort() moves the
 *          rows to the order of the detail, column by column, by a table of where the next
 *          row of each stack goes: no keys, one column of spare memory.
 * Errors   ERROR_UNAVAILABLE when the budget has no room, ERROR_CORRUPT for samples that
 *          do not read back.
 * Threads  none.
 */
#pragma once

#include "storage/block_builder.h"

struct block_gathered_profile {
	struct block_profile head; /* without totals */
	uint32_t group_index;      /* among the groups of the block */
	uint32_t row_end;          /* its rows stand before this one */
};

struct block_gather {
	struct budget *budget; /* or NULL */
	size_t bytes;          /* taken from it */
	uint32_t series_count;

	uint32_t profile_count;
	size_t profile_capacity;
	struct block_gathered_profile *profiles;
	int64_t *totals; /* of all series of a profile, then of the next one */
	uint32_t group_count;

	uint32_t row_count;
	size_t row_capacity;
	uint32_t *stacks;   /* one a row; block_gather_sort() makes them profiles */
	int64_t **values;   /* a column each series */
	uint64_t *span_ids; /* NULL: no row has one so far */
	uint8_t (*trace_ids)[TRACE_ID_SIZE]; /* likewise */
};

void block_gather_init(struct block_gather *gather, uint32_t series_count, struct budget *budget);
void block_gather_fini(struct block_gather *gather);

/* Adds a profile that comes behind the others; its values are decoded into `scratch`. */
int block_gather_add(struct block_gather *gather, const struct block_profile *profile,
                     const struct sample_page *samples, struct arena *scratch, struct error *err);

/* The stacks of the rows that were gathered, ascending, and where their rows stand. */
struct block_gathered_stacks {
	uint32_t count;
	uint32_t *stacks;
	uint32_t *row_counts;
	uint32_t *order;  /* see block_detail_order() */
	uint32_t *firsts; /* count + 1 */
};

/*
 * Sorts all columns of rows; `stacks` of the gather are the profiles of the rows then. What
 * it finds lives in the arena.
 */
int block_gather_sort(struct block_gather *gather, struct arena *arena,
                      struct block_gathered_stacks *out, struct error *err);
