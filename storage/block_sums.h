/*
 * The sums of a block: of each group and series, by stack.
 *
 * Shape    the block's stacks, ascending; then group by group which of them it has, and
 *          what their values add up to (wrapping). A group is read without the others.
 * Errors   ERROR_CORRUPT for bytes that block_sums_encode() did not write; arena_error()
 *          when the arena is full. What is allocated is bounded by block_may_have_rows().
 * Threads  none; what was decoded may be read by many.
 * Source   docs/formats/store.md, "Block bodies"
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "storage/accumulator.h"
#include "storage/block.h"
#include "storage/block_presence.h"
#include "storage/block_values.h"

/* What is encoded. Entries stand group by group, by stack within a group. */
struct block_sums_columns {
	uint32_t group_count;
	uint32_t series_count;
	uint32_t stack_count;
	const uint32_t *stacks;     /* ascending, each once */
	const uint32_t *firsts;     /* group_count + 1: entries of each group */
	const uint32_t *entries;    /* index into stacks */
	const int64_t *const *sums; /* a column each series, one an entry */
};

/* Appends the payload. */
void block_sums_encode(const struct block_sums_columns *columns, struct strbuf *out);

struct block_sums {
	uint32_t group_count; /* as heads have them */
	uint32_t series_count;
	uint32_t stack_count;
	uint32_t largest_stack;         /* 0 when there are none */
	const uint32_t *stacks;         /* ascending */
	const uint32_t *firsts;         /* group_count + 1: entries of each group */
	struct block_presence presence; /* of stacks, a list each group */
	struct block_values values;
};

int block_sums_decode(struct str payload, struct arena *arena, struct block_sums *out,
                      struct error *err);

/* Groups of a block: their places in heads. */
struct block_group_list {
	const uint32_t *indexes;
	size_t count;
};

/*
 * Adds the sums of one series over the groups. `accumulator` has room for largest_stack.
 * `arena` is for scratch.
 */
int block_sums_add(const struct block_sums *sums, const struct block_group_list *groups,
                   uint32_t series, struct arena *arena, struct accumulator *accumulator,
                   struct error *err);
