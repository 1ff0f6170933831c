/*
 * POST /push.v1.PusherService/Push: series of raw pprof profiles.
 *
 * Source   ingest specification, 1.5 and 4
 */
#include "base/gzip.h"
#include "formats/pprof_bytes.h"
#include "formats/push_request.h"
#include "server/app.h"
#include "server/byte_size.h"
#include "server/routes/handlers.h"
#include "server/routes/ingestion.h"
#include "server/routes/ingestion_metrics.h"
#include "server/routes/rpc.h"

#define FORMAT "push"

static enum exchange_state refuse(struct exchange *exchange, const struct error *err)
{
	connect_fail(err, &exchange->response);
	ingestion_metrics_refused(exchange, FORMAT);
	return EXCHANGE_DONE;
}

/* The innermost text of one of the errors; the good answer stands there already. */
static void answer(struct ingestion *ingestion, const struct error *err)
{
	if (!err)
		err = ingestion_error(ingestion);
	if (err)
		connect_fail(err, &ingestion->exchange->response);
}

static int read_message(struct exchange *exchange, const struct connect_call *call,
                        struct push_request *out, struct error *err)
{
	struct error cause;
	const int result = call->codec == CONNECT_JSON
	                           ? push_request_parse(call->message, exchange->arena, out, err)
	                           : push_request_decode(call->message, exchange->arena, out, err);

	if (result == 0)
		return 0;
	(void)error_context(err, "unmarshal message");
	if (!gzip_is(call->message))
		return -1;
	cause = *err;
	return error_set(err, cause.code,
	                 "%s; the body is gzip, and Content-Encoding does not "
	                 "say so",
	                 cause.message);
}

static int too_large(size_t limit, const char *what, struct error *err)
{
	char size[BYTE_SIZE_TEXT];

	byte_size_decimal(limit, size);
	return error_set(err, ERROR_TOO_LARGE, "uncompressed %s payload size exceeds limit of %s",
	                 what, size);
}

static int decode_sample(const struct ingestion *ingestion, const struct push_sample *sample,
                         struct pprof_input *out, struct error *err)
{
	const struct ingest_limits *limits = &ingestion->limits->ingest;
	const struct pprof_options options = { .max_samples = limits->max_samples };
	struct arena *arena = ingestion->exchange->arena;
	struct str plain;

	if (pprof_bytes_unpack(sample->raw_profile, limits->max_profile_size_bytes, arena, &plain,
	                       err) < 0) {
		if (err->code == ERROR_TOO_LARGE && limits->max_profile_size_bytes > 0)
			return too_large(limits->max_profile_size_bytes, "profile", err);
		return -1;
	}
	return pprof_read(plain, &options, arena, out, err);
}

/* One sample of one series; *plain_bytes counts what is unpacked in this request. */
static void take_sample(struct ingestion *ingestion, const struct push_series *series, size_t index,
                        const struct push_sample *sample, size_t *plain_bytes)
{
	struct arena *arena = ingestion->exchange->arena;
	struct ingest_profile *profile = arena_alloc(arena, sizeof(*profile));
	struct pprof_input *input = arena_alloc(arena, sizeof(*input));
	struct ingestion_failure failure = { .series = index, .id = sample->id };

	if (!profile || !input) {
		(void)arena_error(arena, &failure.err);
		ingestion_refuse(ingestion, &failure, sample->raw_profile.length);
		return;
	}
	if (decode_sample(ingestion, sample, input, &failure.err) < 0) {
		ingestion_refuse(ingestion, &failure, sample->raw_profile.length);
		return;
	}
	*plain_bytes += input->encoded_bytes;
	*profile = (struct ingest_profile){
		.input = input,
		.labels = series->labels,
		.sender_id = sample->id,
		.payload = sample->raw_profile,
	};
	ingestion_add(ingestion, &(struct ingestion_item){
					 .series = index,
					 .profile = profile,
					 .sent_bytes = sample->raw_profile.length,
				 });
}

static enum exchange_state store(struct exchange *exchange, const struct push_request *request)
{
	struct ingestion *ingestion = ingestion_begin(exchange, FORMAT, answer);
	const size_t limit = limits_get(exchange->app)->ingestion_body_bytes;
	size_t plain_bytes = 0;
	struct error err = { 0 };

	if (!ingestion) {
		(void)arena_error(exchange->arena, &err);
		return refuse(exchange, &err);
	}
	for (size_t i = 0; i < request->series_count; i++) {
		const struct push_series *series = &request->series[i];

		for (size_t sample = 0; sample < series->sample_count; sample++) {
			take_sample(ingestion, series, i, &series->samples[sample], &plain_bytes);
			if (limit == 0 || plain_bytes <= limit)
				continue;
			(void)too_large(limit, "batched profile", &err);
			err.code = ERROR_INVALID;
			return refuse(exchange, &err); /* nothing was handed to the store yet */
		}
	}
	return ingestion_end(ingestion);
}

enum exchange_state serve_push(struct exchange *exchange)
{
	struct push_request request;
	struct connect_call call;
	struct error err = { 0 };

	if (!rpc_begin(exchange, &call)) {
		ingestion_metrics_refused(exchange, FORMAT);
		return EXCHANGE_DONE;
	}
	if (read_message(exchange, &call, &request, &err) < 0)
		return refuse(exchange, &err);
	if (!rpc_take_tenant(exchange)) {
		ingestion_metrics_refused(exchange, FORMAT);
		return EXCHANGE_DONE;
	}
	if (request.sample_count == 0) {
		(void)error_set(&err, ERROR_INVALID, "no profiles received");
		return refuse(exchange, &err);
	}

	/* An answer of two bytes is not worth compressing. */
	call.gzip_answer = false;
	if (call.codec == CONNECT_JSON)
		strbuf_add_text(&exchange->response.body, "{}");
	connect_reply(&call, &exchange->response);
	return store(exchange, &request);
}
