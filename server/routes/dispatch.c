#include "server/routes/dispatch.h"

#include <stdio.h>

#include "api/error_json.h"
#include "api/grpc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/url.h"
#include "server/app.h"
#include "server/app_metrics.h"
#include "server/guard/access.h"
#include "server/options.h"
#include "server/routes/reject_note.h"
#include "server/routes/route.h"
#include "server/tenant.h"

#define TEXT_PLAIN "text/plain; charset=utf-8"

/* ---- refusals ---- */

/* Whether the request is told a grpc-status: a call, or one of a path that is none. */
static bool speaks_grpc(const struct exchange *exchange)
{
	return grpc_is(&exchange->request) &&
	       (!exchange->route || exchange->route->flags & (ROUTE_CONNECT | ROUTE_GRPC));
}

/* Whether its errors are those of Connect, which may become gRPC's. */
static bool is_call(const struct exchange *exchange)
{
	return speaks_grpc(exchange) ||
	       (exchange->route && (exchange->route->flags & ROUTE_CONNECT));
}

static void count_refused(struct exchange *exchange, const char *reason)
{
	metric_add(METRIC_OF(exchange->app->metrics->requests_refused, str_of(reason)), 1);
}

static void refuse_path(struct exchange *exchange, struct str path)
{
	struct http_response *response = &exchange->response;

	if (grpc_is(&exchange->request)) {
		grpc_unknown_path(path, response);
		return;
	}
	if (str_starts_with(path, STR("/api/"))) {
		http_response_text(response, 404, "application/json",
		                   STR("{\"code\":5,\"message\":\"Not Found\",\"details\":[]}"));
		return;
	}
	http_response_text(response, 404, TEXT_PLAIN, STR("404 page not found\n"));
	http_response_header(response, "X-Content-Type-Options", STR("nosniff"));
}

static void refuse_method(struct exchange *exchange)
{
	const unsigned flags = exchange->route->flags;
	struct http_response *response = &exchange->response;

	if (flags & ROUTE_GATEWAY) {
		http_response_text(
			response, 501, "application/json",
			STR("{\"code\":12,\"message\":\"Method Not Allowed\",\"details\":[]}"));
		return;
	}
	http_response_reset(response, 405);
	http_response_header(response, "Allow", str_of(exchange->route->method));
}

static bool refuse_tenant(struct exchange *exchange, const struct error *err)
{
	error_json_plain(error_connect_status(err->code), err->message, &exchange->response);
	return false;
}

static void add_challenges(struct http_response *response)
{
	/* browsers ask their users for the first that they know */
	http_response_header(response, "WWW-Authenticate",
	                     STR("Basic realm=\"vramscope\", charset=\"UTF-8\""));
	http_response_header(response, "WWW-Authenticate", STR("Bearer realm=\"vramscope\""));
}

static bool refuse_access(struct exchange *exchange, const struct error *err)
{
	count_refused(exchange, error_connect_name(err->code));
	if (is_call(exchange))
		error_json_connect(err, &exchange->response);
	else
		error_json_plain(error_connect_status(err->code), err->message,
		                 &exchange->response);
	if (err->code == ERROR_UNAUTHENTICATED)
		add_challenges(&exchange->response);
	else if (err->code == ERROR_RATE_LIMITED)
		http_response_header(&exchange->response, "Retry-After", STR(ACCESS_RETRY_AFTER));
	return false;
}

void dispatch_too_large(struct exchange *exchange, uint64_t announced)
{
	const size_t limit = dispatch_body_limit(exchange);
	struct error err = { 0 };

	count_refused(exchange, "too_large");
	if (speaks_grpc(exchange) && announced > 0)
		(void)grpc_too_large(announced, dispatch_message_limit(exchange), &err);
	else if (announced > 0)
		(void)error_set(&err, ERROR_TOO_LARGE,
		                "message size %llu is larger than configured max %zu",
		                (unsigned long long)announced, limit);
	else
		(void)error_set(&err, ERROR_TOO_LARGE,
		                "message size is larger than configured max %zu", limit);
	if (is_call(exchange)) {
		error_json_connect(&err, &exchange->response);
		return;
	}
	(void)error_set(&err, ERROR_TOO_LARGE,
	                "request body too large: more than the limit of %zu bytes", limit);
	error_json_plain(413, err.message, &exchange->response);
}

void dispatch_busy(struct exchange *exchange, const char *reason)
{
	struct error err = { 0 };

	count_refused(exchange, reason);
	(void)error_set(&err, ERROR_UNAVAILABLE, "the server is busy (%s); try again", reason);
	if (is_call(exchange)) {
		error_json_connect(&err, &exchange->response);
		return;
	}
	error_json_plain(503, err.message, &exchange->response);
}

void dispatch_malformed(struct exchange *exchange, int status, const char *reason)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "%d %s\n", status, reason);
	count_refused(exchange, "malformed");
	http_response_text(&exchange->response, status, TEXT_PLAIN, str_of(text));
}

/* ---- routing ---- */

/* The path behind -server.path-prefix; false when it is not below the prefix. */
static bool without_prefix(const struct app *app, struct str *path)
{
	struct str prefix = str_of(app->options->path_prefix);

	while (str_ends_with(prefix, STR("/")))
		prefix.length--;
	if (!str_starts_with(*path, prefix))
		return false;
	*path = str_skip(*path, prefix.length);
	return str_starts_with(*path, STR("/"));
}

static bool check_method(const struct exchange *exchange)
{
	return (exchange->route->flags & ROUTE_ANY_METHOD) ||
	       str_equals(exchange->request.method, exchange->route->method);
}

/* Calls of gRPC are posted: to them a page is a path that is none. */
static const struct route *find_route(const struct exchange *exchange, struct str path)
{
	const struct route *route = route_find(path);

	if (route && grpc_is(&exchange->request) && strcmp(route->method, "POST") != 0)
		return NULL;
	return route;
}

bool dispatch_begin(struct exchange *exchange, struct str raw_path, struct str raw_query)
{
	struct str path = raw_path;
	struct error err = { 0 };

	exchange->request.query = raw_query;
	if (str_index(raw_path, '%') >= 0 &&
	    !url_decode(raw_path, URL_PLUS_IS_PLUS, exchange->arena, &path)) {
		dispatch_malformed(exchange, 400, "bad escape in the path");
		return false;
	}
	exchange->request.path = path;
	if (!without_prefix(exchange->app, &path)) {
		refuse_path(exchange, path);
		return false;
	}
	exchange->request.path = path;
	exchange->route = find_route(exchange, path);
	if (!exchange->route) {
		refuse_path(exchange, path);
		return false;
	}
	if (!check_method(exchange)) {
		refuse_method(exchange);
		return false;
	}
	if (!access_check(exchange->app->access, exchange, exchange->route->role, &err))
		return refuse_access(exchange, &err);
	if ((exchange->route->flags & ROUTE_TENANT) &&
	    tenant_of(exchange, &exchange->tenant, &err) < 0)
		return refuse_tenant(exchange, &err);
	return true;
}

size_t dispatch_message_limit(const struct exchange *exchange)
{
	const size_t limit = speaks_grpc(exchange)
	                             ? exchange->app->options->grpc_max_message_bytes
	                             : limits_get(exchange->app)->ingestion_body_bytes;

	if (!(exchange->route->flags & ROUTE_WRITE))
		return ROUTE_BODY_MAX;
	return limit ? limit : exchange->app->memory.limit;
}

size_t dispatch_body_limit(const struct exchange *exchange)
{
	const size_t limit = dispatch_message_limit(exchange);

	return speaks_grpc(exchange) ? grpc_body_limit(&exchange->request, limit) : limit;
}

uint64_t dispatch_announced(const struct exchange *exchange, struct str begun)
{
	return speaks_grpc(exchange) ? grpc_announced(&exchange->request, begun) : 0;
}

void dispatch_complete(struct exchange *exchange)
{
	const size_t limit = exchange->app->options->grpc_max_message_bytes;

	reject_note(exchange);
	if (speaks_grpc(exchange))
		grpc_answer(&exchange->request, limit ? limit : exchange->app->memory.limit,
		            exchange->arena, &exchange->response);
}

/* ---- counting ---- */

/* Methods that anybody may invent share one label. */
static struct str method_label(struct str method)
{
	static const char *const known[] = { "GET",    "POST",    "HEAD", "PUT",
		                             "DELETE", "OPTIONS", "PATCH" };

	for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
		if (str_equals(method, known[i]))
			return method;
	return STR("other");
}

static struct str route_label(const struct exchange *exchange)
{
	return exchange->route ? str_of(exchange->route->label) : STR("other");
}

void dispatch_count_begin(struct exchange *exchange)
{
	metric_add(METRIC_OF(exchange->app->metrics->inflight,
	                     method_label(exchange->request.method), route_label(exchange)),
	           1);
}

void dispatch_count_end(struct exchange *exchange, size_t request_bytes, size_t response_bytes)
{
	const struct app_metrics *metrics = exchange->app->metrics;
	const struct str method = method_label(exchange->request.method);
	const struct str route = route_label(exchange);
	const int64_t took_ns = clock_mono_ns() - exchange->start_mono_ns;
	char status[16];

	(void)snprintf(status, sizeof(status), "%d", error_http_status(&exchange->response));
	metric_add(METRIC_OF(metrics->inflight, method, route), -1);
	metric_observe(METRIC_OF(metrics->request_seconds, method, route, str_of(status),
	                         STR("false")),
	               (double)took_ns / (double)NS_PER_S);
	metric_observe(METRIC_OF(metrics->request_bytes, method, route), (double)request_bytes);
	metric_observe(METRIC_OF(metrics->response_bytes, method, route), (double)response_bytes);
	log_debug("%.*s %s %s in %lld us", STR_ARGS(method), route.data, status,
	          (long long)(took_ns / NS_PER_US));
}
