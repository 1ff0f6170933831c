/*
 * How the profiles of a gauge merge over time: which parts a merge keeps apart, and what
 * each part's sum is divided by.
 *
 * Shape    sources are those of instant_source.h. mean: the sum of a source's profiles
 *          over the distinct times at which it has any; a part is all sources with one
 *          such number. last: a source's newest time; a part is all sources with one such
 *          time. max: the largest profile of each series (instant_maximum_key()); a part
 *          is all series whose largest profile has one time. sum: no parts. Times are
 *          counted over all series of the type that match the service, so that a process
 *          that lived a tenth of the range counts a tenth.
 * Errors   the store's; arena_error().
 * Threads  none.
 * Source   collector specification, 3.4
 */
#pragma once

#include "profile/profile_type.h"
#include "storage/store.h"

struct instant_plan;

/* `query` has the type among its matchers; what it refers to must outlive the plan. */
int instant_plan_new(struct store *store, const struct store_query *query, enum profile_merge merge,
                     struct instant_plan **out, struct error *err);

/* The parts for store_merge(), or NULL for a plain sum. */
const struct store_parts *instant_plan_parts(const struct instant_plan *plan);

/* Whether the merge has anything to read at all. */
bool instant_plan_is_empty(const struct instant_plan *plan);

/* What the sums of a part are divided by. */
int64_t instant_plan_divisor(const struct instant_plan *plan, uint32_t part);

/* What is in the numbers of a gauge. */
struct instant_snapshots {
	int64_t newest_unix_ns; /* INT64_MIN: there is none */
	int64_t count;          /* of one source and time each */
	bool is_rounded;        /* some were divided */
};

/*
 * After the merge: those of the sources that it has asked for. False of a plain sum, which
 * does not count them.
 */
bool instant_plan_snapshots(const struct instant_plan *plan, struct instant_snapshots *out);
