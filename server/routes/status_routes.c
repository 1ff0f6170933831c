/*
 * What operators and orchestrators ask: readiness, metrics, build and configuration.
 *
 * Source   read specification, 5.2 to 5.4
 */
#include "base/json.h"
#include "server/app.h"
#include "server/app_metrics.h"
#include "server/options.h"
#include "server/routes/handlers.h"
#include "server/version.h"

#define TEXT_PLAIN "text/plain; charset=utf-8"

enum exchange_state serve_ready(struct exchange *exchange)
{
	if (atomic_load_explicit(&exchange->app->stopping, memory_order_relaxed))
		http_response_text(&exchange->response, 503, TEXT_PLAIN,
		                   STR("Some services are not Running:\nStopping: [server]\n"));
	else
		http_response_text(&exchange->response, 200, "text/plain", STR("ready"));
	return EXCHANGE_DONE;
}

enum exchange_state serve_healthz(struct exchange *exchange)
{
	http_response_text(&exchange->response, 200, "text/plain", STR("ok"));
	return EXCHANGE_DONE;
}

enum exchange_state serve_metrics(struct exchange *exchange)
{
	struct http_response *response = &exchange->response;
	const struct text_source *more = atomic_load(&exchange->app->more_metrics);

	app_metrics_collect(exchange->app);
	http_response_reset(response, 200);
	http_response_header(response, "Content-Type", STR(METRICS_CONTENT_TYPE));
	metrics_format(exchange->app->registry, &response->body);
	if (more)
		more->add(more->context, &response->body);
	return EXCHANGE_DONE;
}

static void put(struct json_writer *writer, const char *key, const char *value)
{
	json_key(writer, key);
	json_put_text(writer, str_of(value));
}

enum exchange_state serve_buildinfo(struct exchange *exchange)
{
	struct http_response *response = &exchange->response;
	struct json_writer writer;

	http_response_reset(response, 200);
	http_response_header(response, "Content-Type", STR("application/json"));
	json_writer_init(&writer, &response->body);
	json_begin_map(&writer);
	put(&writer, "status", "success");
	json_key(&writer, "data");
	json_begin_map(&writer);
	put(&writer, "version", version_text());
	put(&writer, "revision", version_revision());
	put(&writer, "branch", version_branch());
	put(&writer, "buildUser", "");
	put(&writer, "buildDate", "");
	put(&writer, "goVersion", ""); /* there is no Go in here */
	json_end_map(&writer);
	json_end_map(&writer);
	return EXCHANGE_DONE;
}

static enum exchange_state serve_options(struct exchange *exchange, const struct options *options,
                                         enum options_print what)
{
	struct http_response *response = &exchange->response;

	http_response_reset(response, 200);
	http_response_header(response, "Content-Type", STR(TEXT_PLAIN));
	options_print_yaml(options, what, &response->body);
	return EXCHANGE_DONE;
}

enum exchange_state serve_config(struct exchange *exchange)
{
	return serve_options(exchange, exchange->app->options, OPTIONS_PRINT_ALL);
}

enum exchange_state serve_config_diff(struct exchange *exchange)
{
	return serve_options(exchange, exchange->app->options, OPTIONS_PRINT_CHANGED);
}

enum exchange_state serve_config_default(struct exchange *exchange)
{
	CLEANUP(options_freep) struct options *defaults = options_new();

	return serve_options(exchange, defaults, OPTIONS_PRINT_ALL);
}
