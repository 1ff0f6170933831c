/*
 * What the whole program shares.
 *
 * Shape    made once at start, before any thread; torn down after the last one.
 * Threads  options and pointers do not change while threads run, but for `limits`, which SIGHUP swaps: take limits_get() once a request.
 */
#pragma once

#include "base/budget.h"
#include "base/metrics.h"
#include "profile/ingest.h"
#include "profile/profile_type.h"
#include "storage/store.h"

struct options; /* server/options.h: all values of server/options.def */

/* The values that SIGHUP reloads. */
struct limits {
	struct ingest_limits ingest;
	double ingestion_rate_bytes; /* a second and tenant; 0: unlimited */
	double ingestion_burst_bytes;
	size_t ingestion_body_bytes;   /* 0: no limit of its own (memory.limit still holds) */
	int64_t max_query_length_ns;   /* 0: off */
	int64_t max_query_lookback_ns; /* 0: off */
	int64_t flamegraph_nodes_default;
	int64_t flamegraph_nodes_max;
};

struct app {
	const struct options *options;
	struct store *store;
	struct budget memory; /* memory.limit */
	struct metrics *registry;
	struct app_metrics *metrics; /* server/app_metrics.h: the families by name */
	enum profile_merge instant;  /* -query.instant */
	int64_t start_unix_ns;
	struct limits *_Atomic limits;
};

/* The limits in force. They stay valid for the life of the program (old ones are kept: reloads are rare). */
static inline const struct limits *limits_get(struct app *app)
{
	return atomic_load_explicit(&app->limits, memory_order_acquire);
}
