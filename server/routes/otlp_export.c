#include "server/routes/otlp_export.h"

#include "formats/otlp_json.h"
#include "formats/otlp_request.h"
#include "server/app.h"
#include "server/app_metrics.h"
#include "server/options.h"
#include "server/routes/ingestion.h"
#include "server/routes/ingestion_metrics.h"

#define MESSAGE_MAX 4096 /* bytes of an error's message */

/* What OTLP_VERSION_HEADER says of layouts that are 1.10 or later. */
#define VERSION_1_10 "1"

static enum exchange_state refuse(struct exchange *exchange, const struct otlp_export *request,
                                  const struct error *err)
{
	request->answer(exchange, err->code, str_of(err->message));
	ingestion_metrics_refused(exchange, OTLP_FORMAT);
	return EXCHANGE_DONE;
}

/* The layout that is known before the message is read, or NULL. */
static const struct otlp_layout *known_layout(const struct exchange *exchange,
                                              const struct otlp_export *request)
{
	const int configured = exchange->app->options->otlp_revision;

	if (configured != OTLP_REVISION_COUNT)
		return otlp_layout_of((enum otlp_revision)configured);
	return str_equals(request->version, VERSION_1_10) ? otlp_layout_of(OTLP_1_10) : NULL;
}

static int decode(struct exchange *exchange, const struct otlp_export *request,
                  struct otlp_request *out, struct error *err)
{
	struct otlp_options options = {
		.layout = known_layout(exchange, request),
		.limits = &limits_get(exchange->app)->ingest,
	};
	struct str message = request->message;

	if (request->encoding == OTLP_JSON &&
	    otlp_json_read(request->message, exchange->arena, &message, &options.layout, err) < 0) {
		(void)error_context(err, "Failed to parse JSON request");
		return -1;
	}
	return otlp_request_decode(message, &options, exchange->arena, out, err);
}

static void count(const struct exchange *exchange, const struct otlp_request *request)
{
	const struct app_metrics *metrics = exchange->app->metrics;

	metric_add(METRIC_OF(metrics->otlp_requests, str_of(request->layout->name)), 1);
	metric_add(metric_family_get(metrics->otlp_times_replaced, NULL),
	           (double)request->times_replaced);
}

/* One answer for all profiles of the request. */
static void answer(struct ingestion *ingestion, const struct error *err)
{
	const struct otlp_export *request = ingestion->context;
	const struct error *failure = ingestion_error(ingestion);
	CLEANUP(strbuf_fini) struct strbuf message;

	strbuf_init(&message, MESSAGE_MAX);
	if (err) {
		request->answer(ingestion->exchange, err->code, str_of(err->message));
	} else if (failure) {
		ingestion_describe(ingestion, &message);
		request->answer(ingestion->exchange, failure->code, strbuf_view(&message));
	} else {
		request->answer(ingestion->exchange, ERROR_NONE, STR(""));
	}
}

static enum exchange_state store(struct exchange *exchange, const struct otlp_export *request,
                                 const struct otlp_request *decoded)
{
	struct ingestion *ingestion = ingestion_begin(exchange, OTLP_FORMAT, answer);
	struct otlp_export *kept = arena_alloc(exchange->arena, sizeof(*kept));
	struct error err = { 0 };

	if (!ingestion || !kept) {
		(void)arena_error(exchange->arena, &err);
		return refuse(exchange, request, &err);
	}
	*kept = *request;
	ingestion->context = kept;
	for (size_t i = 0; i < decoded->count; i++)
		ingestion_add(ingestion,
		              &(struct ingestion_item){
				      .series = i,
				      .profile = &decoded->profiles[i],
				      .sent_bytes = decoded->profiles[i].input->encoded_bytes,
			      });
	return ingestion_end(ingestion);
}

struct str otlp_export_version(const struct exchange *exchange)
{
	const struct str *version = http_request_header(&exchange->request, OTLP_VERSION_HEADER);

	return version ? str_trim(*version) : STR("");
}

enum exchange_state otlp_export(struct exchange *exchange, const struct otlp_export *request)
{
	struct otlp_request decoded = { 0 };
	struct error err = { 0 };

	if (decode(exchange, request, &decoded, &err) < 0)
		return refuse(exchange, request, &err);
	count(exchange, &decoded);
	return store(exchange, request, &decoded);
}
