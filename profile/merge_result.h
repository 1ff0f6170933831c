/*
 * From the tables of a merge to the profile that is answered.
 *
 * Shape    the two ways to cut stacks move their values to shorter ones; writing keeps
 *          only what a stack with a value refers to.
 * Errors   arena_error(), ERROR_TOO_LARGE past 2^32 frames.
 * Threads  none.
 * Source   read specification, 3.10
 */
#pragma once

#include "base/error.h"
#include "profile/merge_tables.h"
#include "profile/profile_merger.h"

/* Only the leaf side of each stack. */
int merge_result_keep_leaves(struct merge_tables *tables, const struct go_pgo_options *options,
                             struct error *err);

/* A stack ends with a stub "other" where its node is below the N-th largest total. */
int merge_result_cut(struct merge_tables *tables, int64_t max_nodes, struct error *err);

int merge_result_write(struct merge_tables *tables, const struct profile_merge_options *options,
                       struct profile *out, struct error *err);
