/*
 * A write request against a store that remembers what it was given: handlers without a
 * server.
 */
#pragma once

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "server/app.h"
#include "server/app_metrics.h"
#include "server/http/exchange.h"
#include "server/rate_limit.h"
#include "server/routes/route.h"
#include "server/senders.h"

/* What the store does with a write. */
enum harness_store {
	HARNESS_COMMITS,
	HARNESS_REFUSES, /* at once */
	HARNESS_FAILS,   /* later, in done() */
};

struct harness {
	struct store store;
	enum harness_store mode;
	enum error_code code; /* of REFUSES and FAILS */
	struct strbuf stored; /* "type total|..." of every series */
	size_t writes;

	struct app app;
	struct limits limits;
	struct arena *arena;
	struct exchange exchange;
	struct http_header headers[4];
	bool finished;
};

static inline struct harness *harness_of_store(struct store *store)
{
	return (struct harness *)(void *)((char *)store - offsetof(struct harness, store));
}

static inline int harness_append(struct store *store, struct store_write *write, struct error *err)
{
	struct harness *harness = harness_of_store(store);
	struct error result = { 0 };

	if (harness->mode == HARNESS_REFUSES)
		return error_set(err, harness->code, "the store refuses");
	if (harness->mode == HARNESS_FAILS)
		(void)error_set(&result, harness->code, "the store has failed");
	for (size_t i = 0; i < write->count && harness->mode == HARNESS_COMMITS; i++)
		for (size_t at = 0; at < write->profiles[i].series_count; at++) {
			const struct stored_series *series = &write->profiles[i].series[at];

			strbuf_add_str(&harness->stored,
			               *label_set_find(&series->labels, STR("__profile_type__")));
			strbuf_printf(&harness->stored, " %lld|", (long long)series->total);
		}
	harness->writes++;
	write->done(write, &result);
	return 0;
}

static inline void harness_finish(struct exchange *exchange)
{
	struct harness *harness =
		(struct harness *)(void *)((char *)exchange - offsetof(struct harness, exchange));

	assert(!harness->finished);
	harness->finished = true;
}

static inline void harness_init(struct harness *harness)
{
	static const struct store_operations operations = { .append = harness_append };

	*harness = (struct harness){ .store = { &operations } };
	strbuf_init(&harness->stored, 1 << 20);
	harness->limits.ingest = ingest_limits_default;
	harness->limits.ingestion_body_bytes = (size_t)256 << 20;
	budget_init(&harness->app.memory, (size_t)512 << 20);
	harness->app.store = &harness->store;
	harness->app.registry = metrics_new();
	harness->app.metrics = app_metrics_new(harness->app.registry);
	harness->app.ingest_rate = rate_limit_new();
	harness->app.senders = senders_new();
	atomic_init(&harness->app.limits, &harness->limits);
	harness->arena = arena_new((size_t)64 << 20, &harness->app.memory);
	http_response_init(&harness->exchange.response, 1 << 16);
}

static inline void harness_fini(struct harness *harness)
{
	http_response_fini(&harness->exchange.response);
	arena_free(harness->arena);
	senders_free(harness->app.senders);
	rate_limit_free(harness->app.ingest_rate);
	app_metrics_free(harness->app.metrics);
	metrics_free(harness->app.registry);
	strbuf_fini(&harness->stored);
}

/* Forgets the last request and what was stored. */
static inline void harness_reset(struct harness *harness)
{
	arena_reset(harness->arena);
	http_response_reset(&harness->exchange.response, 200);
	strbuf_reset(&harness->stored);
	harness->finished = false;
	harness->writes = 0;
}

/* Runs `route` with one POST; headers are up to two pairs of texts or NULL. */
static inline void harness_post(struct harness *harness, const struct route *route,
                                const char *query, const char *const headers[4], struct str body)
{
	struct exchange *exchange = &harness->exchange;
	size_t count = 0;

	harness_reset(harness);
	for (size_t i = 0; headers && i < 4 && headers[i]; i += 2)
		harness->headers[count++] =
			(struct http_header){ str_of(headers[i]), str_of(headers[i + 1]) };
	exchange->app = &harness->app;
	exchange->route = route;
	exchange->arena = harness->arena;
	exchange->tenant = STR("anonymous");
	exchange->finish = harness_finish;
	exchange->request = (struct http_request){
		.method = STR("POST"),
		.path = str_of(route->path),
		.query = str_of(query),
		.headers = harness->headers,
		.header_count = count,
		.body = body,
	};
	if (route->handler(exchange) == EXCHANGE_PENDING)
		assert(harness->finished);
	else
		assert(!harness->finished);
}

static inline double harness_metric(struct metric_family *family, const char *a, const char *b)
{
	return metric_value(
		metric_family_get(family, (const struct str[]){ str_of(a), str_of(b ? b : "") }));
}
