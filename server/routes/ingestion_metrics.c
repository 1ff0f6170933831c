#include "server/routes/ingestion_metrics.h"

#include "server/app.h"
#include "server/app_metrics.h"

static struct str label_of(const struct ingest_profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->labels.count; i++)
		if (str_equals(profile->labels.labels[i].name, name))
			return profile->labels.labels[i].value;
	return STR("");
}

void ingestion_metrics_received(const struct ingestion *ingestion,
                                const struct ingestion_item *item)
{
	const struct app_metrics *metrics = ingestion->exchange->app->metrics;
	const struct ingest_profile *profile = item->profile;
	const struct pprof_input *input = profile->input;
	const struct str tenant = ingestion->exchange->tenant;
	const struct str type = label_of(profile, "__name__");

	metric_observe(METRIC_OF(metrics->received_compressed_bytes, type, tenant),
	               (double)item->sent_bytes);
	metric_observe(METRIC_OF(metrics->received_decompressed_bytes, type, tenant),
	               (double)input->encoded_bytes);
	metric_observe(METRIC_OF(metrics->received_samples, type, tenant),
	               (double)input->profile.sample_count);
	metric_add(METRIC_OF(metrics->profiles_received, tenant,
	                     label_of(profile, "otel.scope.name"),
	                     label_of(profile, "otel.scope.version")),
	           1);
}

void ingestion_metrics_discarded(const struct ingestion *ingestion, const char *reason,
                                 size_t bytes)
{
	const struct app_metrics *metrics = ingestion->exchange->app->metrics;
	const struct str tenant = ingestion->exchange->tenant;

	metric_add(METRIC_OF(metrics->discarded_samples, str_of(reason), tenant), 1);
	metric_add(METRIC_OF(metrics->discarded_bytes, str_of(reason), tenant), (double)bytes);
}

static void count_request(const struct exchange *exchange, const char *format)
{
	const int status = exchange->response.status;
	const char *outcome = status < 400 ? "ok" : status < 500 ? "refused" : "failed";

	metric_add(METRIC_OF(exchange->app->metrics->ingest_requests, str_of(format),
	                     str_of(outcome)),
	           1);
}

void ingestion_metrics_refused(const struct exchange *exchange, const char *format)
{
	count_request(exchange, format);
}

void ingestion_metrics_answered(const struct ingestion *ingestion)
{
	const struct exchange *exchange = ingestion->exchange;
	const struct app_metrics *metrics = exchange->app->metrics;
	const struct str format = str_of(ingestion->format);
	size_t series = 0;
	size_t samples = 0;

	count_request(exchange, ingestion->format);
	for (size_t i = 0; ingestion->is_committed && i < ingestion->count; i++) {
		const struct series_profile *profile = &ingestion->profiles[i];

		series += profile->series_count;
		samples += profile->series_count * profile->row_count;
	}
	metric_add(METRIC_OF(metrics->ingest_profiles, format), (double)series);
	metric_add(METRIC_OF(metrics->ingest_samples, format), (double)samples);
	if (ingestion->is_committed || exchange->response.status < 400)
		metric_add(METRIC_OF(metrics->ingest_bytes, format),
		           (double)exchange->request.body.length);
}
