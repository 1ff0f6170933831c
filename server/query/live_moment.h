/*
 * What was live at one moment: which profiles of gauges tell it.
 *
 * Shape    those of each node's newest tick at or before it, unless that is older than two
 *          of the node's intervals. Of the collector's types a node is a hostname, and its
 *          ticks are those of everything that runs there: a process that has gone holds
 *          nothing. Of others it is a source (instant_source.h), and its ticks are its own
 *          profiles of that type.
 * Errors   the store's; arena_error().
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "server/query/instant.h"
#include "server/query/read_query.h"

struct live_moment;

/* `query` has type and selector; its range becomes that of the ticks around the moment. */
int live_moment_new(struct read_query *query, int64_t at_ms, struct live_moment **out,
                    struct error *err);

/* The parts for store_merge(): none of them is divided. */
const struct store_parts *live_moment_parts(const struct live_moment *moment);

/* After the merge: what it has asked for. */
void live_moment_snapshots(const struct live_moment *moment, struct instant_snapshots *out);
