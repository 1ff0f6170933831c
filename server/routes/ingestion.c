#include "server/routes/ingestion.h"

#include "api/error_json.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/app.h"
#include "server/byte_size.h"
#include "server/rate_limit.h"
#include "server/routes/ingestion_metrics.h"
#include "server/routes/peer_name.h"
#include "server/routes/route.h"
#include "server/senders.h"

static void committed(struct store_write *write, const struct error *err);

struct ingestion *ingestion_begin(struct exchange *exchange, const char *format,
                                  void (*answer)(struct ingestion *, const struct error *))
{
	struct ingestion *ingestion = arena_alloc(exchange->arena, sizeof(*ingestion));
	struct ingestion_failure *failures =
		arena_array(exchange->arena, INGESTION_FAILURES_KEPT, sizeof(*failures));

	if (!ingestion || !failures)
		return NULL;
	*ingestion = (struct ingestion){
		.exchange = exchange,
		.limits = limits_get(exchange->app),
		.format = format,
		.now_unix_ns = clock_unix_ns(),
		.answer = answer,
		.failures = failures,
	};
	return ingestion;
}

static void keep_failure(struct ingestion *ingestion, const struct ingestion_failure *failure)
{
	struct ingestion_failure *failures = ingestion->failures;
	size_t place = ingestion->failure_count++;

	/* What sending again may cure decides the answer: a shortage of ours comes first. */
	if (failure->err.code == ERROR_UNAVAILABLE && place > 0) {
		if (place < INGESTION_FAILURES_KEPT)
			failures[place] = failures[0];
		place = 0;
	}
	if (place >= INGESTION_FAILURES_KEPT)
		return;
	failures[place] = *failure;
	/* A limit that one profile broke makes a bad argument of it. */
	if (failure->err.code == ERROR_TOO_LARGE)
		failures[place].err.code = ERROR_INVALID;
}

void ingestion_refuse(struct ingestion *ingestion, const struct ingestion_failure *failure,
                      size_t sent_bytes)
{
	const char *reason = failure->err.code == ERROR_TOO_LARGE ? "profile_size_limit"
	                                                          : "malformed_profile";

	if (failure->err.code != ERROR_UNAVAILABLE)
		ingestion_metrics_discarded(ingestion, reason, sent_bytes);
	keep_failure(ingestion, failure);
}

/* Step B: what a tenant may send. */
static bool passes_rate(const struct ingestion *ingestion, const struct ingest_profile *profile,
                        struct error *err)
{
	const struct exchange *exchange = ingestion->exchange;
	const struct limits *limits = ingestion->limits;
	size_t cost = profile->input->encoded_bytes;
	char rate[BYTE_SIZE_TEXT];
	char text[BYTE_SIZE_TEXT];

	for (size_t i = 0; i < profile->labels.count; i++)
		cost += profile->labels.labels[i].name.length +
		        profile->labels.labels[i].value.length;
	if (rate_limit_take(exchange->app->ingest_rate, exchange->tenant, (double)cost,
	                    limits->ingestion_rate_bytes, limits->ingestion_burst_bytes,
	                    clock_mono_ns()))
		return true;
	byte_size_binary((uint64_t)limits->ingestion_rate_bytes, rate);
	byte_size_binary(cost, text);
	(void)error_set(err, ERROR_RATE_LIMITED, "push rate limit (%s) exceeded while adding %s",
	                rate, text);
	return false;
}

static int keep_profiles(struct ingestion *ingestion, const struct ingest_result *result,
                         struct error *err)
{
	struct arena *arena = ingestion->exchange->arena;

	for (size_t i = 0; i < result->count; i++) {
		if (!ARENA_GROW(arena, ingestion->profiles, ingestion->count, ingestion->capacity))
			return arena_error(arena, err);
		ingestion->profiles[ingestion->count++] = result->profiles[i];
	}
	return 0;
}

void ingestion_add(struct ingestion *ingestion, const struct ingestion_item *item)
{
	const size_t kept = ingestion->count;
	struct ingestion_failure failure = { .series = item->series,
		                             .id = item->profile->sender_id };
	struct ingest_result result = { 0 };

	ingestion_metrics_received(ingestion, item);
	if (!passes_rate(ingestion, item->profile, &failure.err)) {
		ingestion_metrics_discarded(ingestion, "rate_limited", item->sent_bytes);
		keep_failure(ingestion, &failure);
		return;
	}
	if (ingest_profile(item->profile, &ingestion->limits->ingest, ingestion->now_unix_ns,
	                   &result, &failure.err) == 0 &&
	    keep_profiles(ingestion, &result, &failure.err) == 0)
		return;
	ingestion->count = kept;
	if (result.reason)
		ingestion_metrics_discarded(ingestion, result.reason, item->sent_bytes);
	keep_failure(ingestion, &failure);
}

const struct error *ingestion_error(const struct ingestion *ingestion)
{
	return ingestion->failure_count > 0 ? &ingestion->failures[0].err : NULL;
}

void ingestion_describe(const struct ingestion *ingestion, struct strbuf *out)
{
	const size_t kept = ingestion->failure_count < INGESTION_FAILURES_KEPT
	                            ? ingestion->failure_count
	                            : INGESTION_FAILURES_KEPT;

	if (ingestion->failure_count > 1)
		strbuf_printf(out, "%zu errors: ", ingestion->failure_count);
	for (size_t i = 0; i < kept; i++) {
		const struct ingestion_failure *failure = &ingestion->failures[i];

		strbuf_printf(out, "%spush series with index %zu and id %.*s failed: %s: %s",
		              i > 0 ? "; " : "", failure->series, STR_ARGS(failure->id),
		              error_connect_name(failure->err.code), failure->err.message);
	}
	if (kept < ingestion->failure_count)
		strbuf_printf(out, "; and %zu more", ingestion->failure_count - kept);
}

static void finish(struct ingestion *ingestion, const struct error *err)
{
	if (err)
		ingestion->answer(ingestion, err);
	ingestion_metrics_answered(ingestion);
}

/* For who asks whether anything arrives. */
static void note_arrival(const struct ingestion *ingestion)
{
	const struct exchange *exchange = ingestion->exchange;
	const struct str *agent = http_request_header(&exchange->request, "User-Agent");
	struct app *app = exchange->app;
	struct peer_name peer;

	peer_name_of(exchange, &peer);
	recent_count_add(&app->recent_profiles, clock_mono_ns(), ingestion->count);
	senders_note(app->senders, &(struct sender_note){
					   .tenant = exchange->tenant,
					   .address = str_of(peer.address),
					   .agent = agent ? *agent : STR(""),
					   .route = exchange->route ? exchange->route->path : "",
					   .time_unix_ns = clock_unix_ns(),
				   });
}

/* Runs on the writer thread; the answer for the good case stands ready. */
static void committed(struct store_write *write, const struct error *err)
{
	struct ingestion *ingestion = write->context;
	struct exchange *exchange = ingestion->exchange;

	ingestion->is_committed = !err || err->code == ERROR_NONE;
	if (ingestion->is_committed)
		note_arrival(ingestion);
	finish(ingestion, ingestion->is_committed ? NULL : err);
	exchange_finish(exchange);
}

enum exchange_state ingestion_end(struct ingestion *ingestion)
{
	struct exchange *exchange = ingestion->exchange;
	struct error err = { 0 };

	ingestion->answer(ingestion, NULL);
	if (ingestion->count == 0) {
		finish(ingestion, NULL);
		return EXCHANGE_DONE;
	}
	ingestion->write = (struct store_write){
		.tenant = exchange->tenant,
		.profiles = ingestion->profiles,
		.count = ingestion->count,
		.bytes = arena_used(exchange->arena) + exchange->request.body.length,
		.done = committed,
		.context = ingestion,
	};
	if (store_append(exchange->app->store, &ingestion->write, &err) == 0)
		return EXCHANGE_PENDING;
	finish(ingestion, &err);
	return EXCHANGE_DONE;
}
