/*
 * Sources of gauges: which series are snapshots of one clock.
 *
 * Shape    a source is a service and the first label present of hostname, node, instance
 *          and pod. Its ticks are counted over all of its series, whichever of them are
 *          asked for: so a question is widened to find them.
 *          Of peaks (gpu_memory_peak) those of one process are one whatever they were told
 *          for (its highest point, and what it held when memory was short), and on whichever
 *          of its devices: those of one moment belong together.
 * Errors   arena_error().
 * Threads  none.
 * Source   collector specification, 3.4
 */
#pragma once

#include "base/hash.h"
#include "storage/store.h"

/* The identity of a series' source. */
struct hash128 instant_source_key(uint64_t secret, const struct label_set *labels);

/*
 * The identity of what has one maximum: a series, but for peaks, whose labels `reason` and
 * `gpu` do not tell series apart.
 */
struct hash128 instant_maximum_key(uint64_t secret, const struct label_set *labels);

/* The identity of what is one at a time: a series, but for peaks, which `gpu` does not part. */
struct hash128 instant_moment_key(uint64_t secret, const struct label_set *labels);

/* A question about all that shares a source with what another asks. */
struct instant_question {
	struct store_query query; /* refers to the two below */
	struct selector selector; /* matchers on service and type; regexes are borrowed */
	struct sample_filter filter;
};

/* Of the matchers only those on service and type stay, of the filter only profiles. */
int instant_question_widen(const struct store_query *query, struct instant_question *out,
                           struct error *err);
