/*
 * What the whole program shares.
 *
 * Shape    made once at start, before any thread; torn down after the last one.
 * Threads  options and pointers do not change while threads run, but for `limits`, which
 *          SIGHUP swaps: take limits_get() once a request.
 */
#pragma once

#include "base/budget.h"
#include "base/metrics.h"
#include "base/strbuf.h"
#include "profile/ingest.h"
#include "profile/profile_type.h"
#include "server/recent_count.h"
#include "storage/store.h"

struct access;        /* server/guard/access.h */
struct answer_shares; /* server/routes/answer_share.h */
struct options;       /* server/options.h: all values of server/options.def */
struct rate_limit;    /* server/rate_limit.h */
struct rejects;       /* server/rejects.h */
struct senders;       /* server/senders.h */
struct app_metrics;   /* server/app_metrics.h */
struct server_gauge;  /* server/app_metrics.h */

/* The values that SIGHUP reloads. */
struct limits {
	struct ingest_limits ingest;
	double ingestion_rate_bytes; /* a second and tenant; 0: unlimited */
	double ingestion_burst_bytes;
	size_t ingestion_body_bytes;   /* 0: no limit of its own (memory.limit still holds) */
	int64_t max_query_length_ns;   /* 0: off */
	int64_t max_query_lookback_ns; /* 0: off */
	int64_t flamegraph_nodes_default;
	int64_t flamegraph_nodes_max; /* 0: no limit */

	struct limits *before; /* those that were in force until these came */
};

/* Somebody who appends text; any thread. It lives as long as the app. */
struct text_source {
	void (*add)(void *context, struct strbuf *out);
	void *context;
};

struct app {
	const struct options *options;
	struct store *store;
	struct budget memory; /* memory.limit */
	struct metrics *registry;
	struct app_metrics *metrics;         /* the families by name */
	struct rate_limit *ingest_rate;      /* tenants' buckets for limits.ingestion_rate_bytes */
	struct access *access;               /* who may come in */
	struct rejects *rejects;             /* write requests that were refused */
	struct answer_shares *shares;        /* read requests under way, for equal ones */
	struct senders *senders;             /* who has sent profiles */
	struct recent_count recent_profiles; /* that were stored */
	enum profile_merge instant;          /* -query.instant */
	_Atomic int64_t retention_ns;        /* in force; 0: for ever */
	_Atomic int64_t max_bytes; /* of the store, as it was asked for; 0: what the disk has */
	int64_t start_unix_ns;
	struct limits *_Atomic limits;
	_Atomic bool stopping; /* not ready any more; answers say Connection: close */
	_Atomic bool deleting; /* a deletion is under way */

	/*
	 * what the listener and the pool cost now, for /metrics; NULL while there is
	 * none
	 */
	void (*gauge)(void *context, struct server_gauge *out);
	void *gauge_context;

	/* adds to /metrics what others count; NULL while there is nobody */
	const struct text_source *_Atomic more_metrics;
};

/* The limits in force. They stay valid for the life of the program: old ones are kept. */
static inline const struct limits *limits_get(struct app *app)
{
	return atomic_load_explicit(&app->limits, memory_order_acquire);
}

/* Opens the store and makes everything else. `options` must outlive the app. */
int app_open(const struct options *options, struct app **out, struct error *err);

/* Commits what the store took in. NULL is fine. */
void app_close(struct app *app);

/* Puts the reloadable values of `options` into force. */
void app_reload(struct app *app, const struct options *options);
