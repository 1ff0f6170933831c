/*
 * Profiles with their samples, as a query sees them: fresh ones and those of blocks alike.
 *
 * Errors   ERROR_CORRUPT when samples do not read back or name stacks that the window does
 *          not have.
 * Threads  the caller's.
 */
#pragma once

#include "storage/query_blocks.h"

/* Everything is borrowed until the visitor returns; it may take memory of query->scratch. */
struct query_profile {
	size_t run;
	int64_t time_unix_ns;
	struct uuid id;
	uint32_t row_count;
	const uint32_t *stacks;                    /* ascending */
	const int64_t *const *values;              /* of each column of the run, in its order */
	const bool *passes;                        /* the filter on rows; NULL: all do */
	const uint64_t *span_ids;                  /* NULL: no row has one, or nobody asks */
	const uint8_t (*trace_ids)[TRACE_ID_SIZE]; /* likewise */
};

typedef int (*query_profile_visitor)(struct query *query, struct query_window *window,
                                     const struct query_profile *profile, void *context,
                                     struct error *err);

enum query_spans {
	QUERY_SPANS_IF_FILTERED,
	QUERY_SPANS,
};

/* What is visited, and how. */
struct query_visit {
	enum query_spans spans;
	query_profile_visitor visit;
	void *context;
};

/* Profiles of the runs [range.first, range.end) that are in no block. */
int query_fresh_profiles(struct query *query, struct query_window *window, struct query_range range,
                         const struct query_visit *visit, struct error *err);

/* The profiles of a block's picks, whose heads are read. */
int query_block_profiles(struct query *query, struct query_window *window,
                         struct query_block *block, const struct query_visit *visit,
                         struct error *err);

/* All profiles of the window's runs, which are of one part. */
int query_profiles(struct query *query, struct query_window *window,
                   const struct query_visit *visit, struct error *err);
