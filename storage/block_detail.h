/*
 * The rows of a block: which stacks each profile has, and their values.
 *
 * Shape    rows stand by stack, the most frequent first, then by profile; so that a part
 *          of the profiles is summed up by stack without sorting, and neighbours are alike.
 *          What a stack has in a group is a run: levels and sizes belong to a process. Spans
 *          and traces are there when any row has one.
 * Errors   ERROR_CORRUPT for bytes that block_detail_encode() did not write; arena_error()
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
#include "storage/block_runs.h"
#include "storage/block_values.h"
#include "storage/sample_page.h"

/* What is encoded. Rows stand by stack in the order of block_detail_order(). */
struct block_detail_columns {
	struct block_groups groups;
	uint32_t series_count;
	uint32_t row_count;
	uint32_t stack_count;
	const uint32_t *stacks;       /* ascending, each once */
	const uint32_t *row_counts;   /* of each stack; none is 0 */
	const uint32_t *profiles;     /* one a row: ascending within a stack, perhaps repeated */
	const int64_t *const *values; /* a column each series */
	const uint64_t *span_ids;     /* or NULL */
	const uint8_t (*trace_ids)[TRACE_ID_SIZE]; /* or NULL */
};

/*
 * The order of stacks: most rows first, then by index. Fills order[stack_count] with
 * indexes and firsts[stack_count + 1] with the first row of each place.
 */
void block_detail_order(const uint32_t *row_counts, uint32_t stack_count, uint32_t *order,
                        uint32_t *firsts);

/* Appends the payload. `scratch` is full: arena_error(). */
int block_detail_encode(const struct block_detail_columns *columns, struct arena *scratch,
                        struct strbuf *out, struct error *err);

struct block_detail {
	uint32_t profile_count;
	uint32_t series_count;
	uint32_t row_count;
	uint32_t stack_count;
	struct block_groups groups;     /* as heads have them */
	uint32_t largest_stack;         /* 0 when there are none */
	const uint32_t *stacks;         /* ascending */
	const uint32_t *order;          /* indexes into stacks, most rows first */
	const uint32_t *firsts;         /* stack_count + 1: first row of each place in `order` */
	struct block_presence presence; /* of profiles, a list each place in `order` */
	struct block_values values;
	struct block_runs runs; /* empty where no column needs them */
	struct str spans;       /* not decoded; NULL data: no row has one */
	struct str traces;
};

int block_detail_decode(struct str payload, struct arena *arena, struct block_detail *out,
                        struct error *err);

/*
 * Adds the values of one series of the profiles in `spans`. `accumulator` has room for
 * largest_stack. `arena` is for scratch.
 */
int block_detail_add(const struct block_detail *detail, uint32_t series,
                     const struct block_span *spans, size_t span_count, struct arena *arena,
                     struct accumulator *accumulator, struct error *err);

/* The values of all rows of the stack at a place in the order. */
void block_detail_values(const struct block_detail *detail, const struct block_series *series,
                         uint32_t place, int64_t *out);
