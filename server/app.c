#include "server/app.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/app_metrics.h"
#include "server/guard/access.h"
#include "server/options.h"
#include "server/rate_limit.h"
#include "server/rejects.h"
#include "server/routes/answer_share.h"
#include "server/senders.h"
#include "storage/sqlite_store.h"

static struct limits *limits_new(const struct options *options)
{
	struct limits *limits = mem_zalloc(1, sizeof(*limits));

	*limits = (struct limits){
		.ingest = {
			.reject_older_than_ns = options->reject_older_than_ns,
			.reject_newer_than_ns = options->reject_newer_than_ns,
			.max_label_name_length = options->max_label_name_length,
			.max_label_value_length = options->max_label_value_length,
			.max_label_names_per_series = options->max_label_names_per_series,
			.max_sessions_per_series = options->max_sessions_per_series,
			.max_profile_size_bytes = options->max_profile_size_bytes,
			.max_recording_bytes = options->max_recording_bytes,
			.max_samples = options->max_samples,
			.max_sample_labels = options->max_sample_labels,
			.max_depth = options->max_depth,
			.max_string_length = options->max_string_length,
		},
		.ingestion_rate_bytes = options->ingestion_rate_bytes,
		.ingestion_burst_bytes = options->ingestion_burst_bytes,
		.ingestion_body_bytes = (size_t)options->ingestion_body_bytes,
		.max_query_length_ns = options->max_query_length_ns,
		.max_query_lookback_ns = options->max_query_lookback_ns,
		.flamegraph_nodes_default = (int64_t)options->flamegraph_nodes_default,
		.flamegraph_nodes_max = (int64_t)options->flamegraph_nodes_max,
	};
	return limits;
}

static int open_store(struct app *app, const struct options *options, struct error *err)
{
	return sqlite_store_open(
		&(struct sqlite_store_options){
			.path = options->storage_path,
			.sync = (enum sqlite_store_sync)options->storage_sync,
			.retention_ns = options->storage_retention_ns,
			.max_bytes = options->storage_max_bytes,
			/* 128 connections with a large profile each wait in some 80 MB */
			.queue_max_bytes = options->memory_limit / 4,
			.compact_after_ns = options->storage_compact_after_ns > 0
	                                            ? options->storage_compact_after_ns
	                                            : 1,
			.seal_after_ns = options->storage_seal_after_ns > 0
	                                         ? options->storage_seal_after_ns
	                                         : 1,
			.allow_network_fs = options->storage_allow_network_fs,
			.budget = &app->memory,
		},
		&app->store, err);
}

static void note_retention(struct app *app, const struct options *options)
{
	atomic_store(&app->retention_ns, options->storage_retention_ns);
	atomic_store(&app->max_bytes, (int64_t)options->storage_max_bytes);
}

int app_open(const struct options *options, struct app **out, struct error *err)
{
	struct app *app = mem_zalloc(1, sizeof(*app));

	app->options = options;
	app->instant = (enum profile_merge)options->query_instant;
	app->start_unix_ns = clock_unix_ns();
	budget_init(&app->memory, options->memory_limit);
	atomic_init(&app->limits, limits_new(options));
	app->registry = metrics_new();
	app->metrics = app_metrics_new(app->registry);
	app->ingest_rate = rate_limit_new();
	app->rejects = rejects_new();
	app->senders = senders_new();
	recent_count_init(&app->recent_profiles);
	note_retention(app, options);
	app->shares = answer_shares_new();
	if (access_open(options, &app->access, err) < 0 || open_store(app, options, err) < 0) {
		app_close(app);
		return -1;
	}
	*out = app;
	return 0;
}

void app_close(struct app *app)
{
	struct limits *limits;

	if (!app)
		return;
	store_close(app->store);
	answer_shares_free(app->shares);
	rejects_free(app->rejects);
	senders_free(app->senders);
	recent_count_fini(&app->recent_profiles);
	rate_limit_free(app->ingest_rate);
	access_free(app->access);
	app_metrics_free(app->metrics);
	metrics_free(app->registry);
	limits = atomic_load(&app->limits);
	while (limits) {
		struct limits *before = limits->before;

		free(limits);
		limits = before;
	}
	free(app);
}

void app_reload(struct app *app, const struct options *options)
{
	struct limits *limits = limits_new(options);
	struct error err = { 0 };

	limits->before = atomic_load(&app->limits);
	atomic_store_explicit(&app->limits, limits, memory_order_release);
	log_set_level((enum log_level)options->log_level);
	if (access_reload(app->access, options, &err) < 0) {
		log_error("reloading credentials: %s; what was in force stays", err.message);
		err = (struct error){ 0 };
	}
	if (sqlite_store_set_retention(app->store, options->storage_retention_ns,
	                               options->storage_max_bytes, &err) < 0)
		log_error("setting retention: %s; what was in force stays", err.message);
	else
		note_retention(app, options);
}
