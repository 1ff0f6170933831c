/*
 * One profile as it is stored: what the pipeline makes of a pprof and its labels, and
 * what a store appends.
 *
 * Shape    some series (one for each sample type that has a positive value) that share
 *          the same rows. A row is a stack with one value for each series; values are
 *          >= 0, and a row has a positive one. But for the tick of a gauge that is zero:
 *          one row without a stack, of zeros. Stacks are runs of profile->stacks; an
 *          empty one is a value without a stack. Rows with equal runs differ in their
 *          span or trace. Different runs may still mean the same frames (two locations
 *          with one content, addresses taken off): a store that interns adds such rows
 *          up.
 * Units    times are Unix nanoseconds.
 * Threads  none: it belongs to its request's arena until the store has said that it is
 *          done.
 */
#pragma once

#include "base/hash.h"
#include "base/uuid.h"
#include "profile/label_set.h"
#include "profile/profile.h"

#define TRACE_ID_SIZE 16

struct stored_series {
	struct label_set labels; /* whole, __profile_type__ and the like included; sorted */
	const int64_t *values;   /* one a row */
	int64_t total;           /* of values, wrapping */
};

struct stored_row {
	uint32_t first_frame; /* into profile->stacks */
	uint32_t depth;
};

struct series_profile {
	const struct profile *profile; /* strings, functions, mappings, locations, stacks */
	int64_t time_unix_ns;
	int64_t duration_ns;
	struct uuid id; /* of this profile; all sample types share it */
	/*
	 * of series, time, the sender's id and payload; zero: never the same as another
	 */
	struct hash128 origin;
	struct stored_series *series;
	size_t series_count;
	struct stored_row *rows;
	size_t row_count;
	/*
	 * one a row, 0: none; NULL: no row has one. The value of the hex digits as
	 * written
	 */
	const uint64_t *span_ids;
	/* one a row, zero: none; NULL: no row has one */
	const uint8_t (*trace_ids)[TRACE_ID_SIZE];
};
