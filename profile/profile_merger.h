/*
 * Many windows' sums into one pprof: SelectMergeProfile.
 *
 * Shape    strings, functions, mappings and locations are interned by content over all
 *          windows, stacks as a prefix tree over locations; only what is referenced is in
 *          the result. One sample type. Bytes are copied: windows may go away.
 *          Mappings are equal by (size in pages, offset, build id or else file). A bare
 *          location keeps a mapping of its own start, so that its address stays true.
 * Errors   arena_error() when it does not fit. A merger that failed is of no further use.
 * Threads  none.
 * Source   read specification, 3.10
 */
#pragma once

#include "profile/profile.h"
#include "profile/profile_type.h"
#include "profile/symbols.h"

struct profile_merger;

int profile_merger_new(struct arena *arena, struct profile_merger **out, struct error *err);

/*
 * Adds sums times numerator / denominator (> 0). What all windows have of a stack at one
 * such ratio is rounded together, half up; what is below 1 is left out.
 */
int profile_merger_add_sums(struct profile_merger *merger, const struct stack_sums *sums,
                            int64_t numerator, int64_t denominator, struct error *err);

struct go_pgo_options {
	uint32_t keep_locations; /* leaf side; 0: all */
	bool aggregate_callees;  /* the leaf's innermost line gets number 0 */
};

struct profile_merge_options {
	const struct profile_type *type;
	int64_t end_unix_ns;                 /* becomes time_nanos */
	int64_t max_nodes;                   /* <= 0: whole; go_pgo is never cut */
	const struct go_pgo_options *go_pgo; /* or NULL */
};

/* The result, once; sample_count 0 when nothing was added. */
int profile_merger_finish(struct profile_merger *merger,
                          const struct profile_merge_options *options, struct profile *out,
                          struct error *err);
