/*
 * The profiles of one write request on their way into the store.
 *
 * Shape    a handler begins one, gives it every profile that it decoded (or what was
 *          wrong with it), and ends it. Profiles are independent: each is tried, those
 *          that are good are committed together, and then the request is answered; it
 *          fails when any of them failed. Lives in the request's arena.
 * Errors   of a profile: kept, counted in the metrics by reason, and told to the answer.
 * Threads  the handler's until ingestion_end(); the answer may be written by the store's
 *          writer thread.
 * Source   ingest specification, 2 and 3.1
 */
#pragma once

#include "profile/ingest.h"
#include "server/http/exchange.h"

#define INGESTION_FAILURES_KEPT 10 /* messages of one request; further ones are counted */

struct app_metrics;
struct limits;
struct metric;

/* One profile that was refused. */
struct ingestion_failure {
	size_t series; /* its index in the request */
	struct str id; /* the sender's, or empty */
	struct error err;
};

struct ingestion {
	struct exchange *exchange;
	const struct limits *limits;
	const char *format; /* in the metrics */
	int64_t now_unix_ns;

	/*
	 * Writes the response; called once when everything is committed or there was
	 * nothing, with err NULL, and once more when the store has refused, with its
	 * error.
	 */
	void (*answer)(struct ingestion *ingestion, const struct error *err);
	const void *context; /* the handler's, for its answer */

	struct store_write write;
	struct series_profile *profiles;
	size_t count;
	size_t capacity;

	struct ingestion_failure *failures; /* INGESTION_FAILURES_KEPT of them */
	size_t failure_count;               /* of all */
	bool is_committed;
};

/* One profile as it came, for limits and metrics. */
struct ingestion_item {
	size_t series; /* index in the request */
	struct ingest_profile *profile;
	size_t sent_bytes; /* packed or not */
};

/* NULL when the arena is full. */
struct ingestion *ingestion_begin(struct exchange *exchange, const char *format,
                                  void (*answer)(struct ingestion *, const struct error *));

/* Runs the pipeline on a profile and keeps what comes out for the commit. */
void ingestion_add(struct ingestion *ingestion, const struct ingestion_item *item);

/* Notes a profile of sent_bytes that could not be decoded. */
void ingestion_refuse(struct ingestion *ingestion, const struct ingestion_failure *failure,
                      size_t sent_bytes);

/* Commits what there is. What it returns is what the handler returns. */
enum exchange_state ingestion_end(struct ingestion *ingestion);

/* The failure that decides the answer, or NULL when there is none. */
const struct error *ingestion_error(const struct ingestion *ingestion);

/*
 * Appends all failures as the reference tells them: "push series with index 0 and id
 * failed: invalid_argument: ...", several of them as "2 errors: ...; ...".
 */
void ingestion_describe(const struct ingestion *ingestion, struct strbuf *out);
