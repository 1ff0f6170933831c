#include "server/routes/reject_note.h"

#include <stdio.h>

#include "api/error_json.h"
#include "base/clock.h"
#include "base/json_reader.h"
#include "server/app.h"
#include "server/app_metrics.h"
#include "server/rejects.h"
#include "server/routes/peer_name.h"
#include "server/routes/route.h"

#define JSON_ARENA ((size_t)64 << 10) /* an error's text is short */

static void name_sender(const struct exchange *exchange, struct reject *reject)
{
	char text[REJECT_SENDER_MAX];
	struct peer_name peer;

	peer_name_of(exchange, &peer);
	if (!peer.address[0])
		return;
	(void)snprintf(text, sizeof(text), peer.is_ipv6 ? "[%s]:%s" : "%s:%s", peer.address,
	               peer.port);
	REJECT_SET(reject->sender, str_of(text));
}

/* The member "message" of an error's JSON; false when there is none. */
static bool find_message(struct str body, struct arena *arena, struct str *out)
{
	struct json_reader reader;
	struct error ignored = { 0 };
	struct str key;
	struct str raw;

	json_reader_init(&reader, body);
	if (json_reader_enter_map(&reader, &ignored) < 0)
		return false;
	while (json_reader_next_member(&reader, arena, &key, &ignored) > 0) {
		if (str_equals(key, "message"))
			return json_reader_text(&reader, arena, out, &ignored) == 0;
		if (json_reader_skip(&reader, &raw, &ignored) < 0)
			return false;
	}
	return false;
}

/* Connect refuses content types without a word; the header says which it takes. */
static struct str refused_type(const struct exchange *exchange, struct arena *arena)
{
	const struct str type = http_request_media_type(&exchange->request);
	const struct str *taken = http_response_find_header(&exchange->response, "Accept-Post");

	if (!taken)
		return STR("");
	return arena_printf(arena, "Content-Type '%.*s' is none of %.*s",
	                    STR_ARGS(str_first(type, 100)), STR_ARGS(*taken));
}

static void keep_message(const struct exchange *exchange, struct reject *reject)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(JSON_ARENA, NULL);
	const struct http_response *response = &exchange->response;
	const struct str body = strbuf_view(&response->body);
	struct str message = str_of(response->failure.message);

	if (message.length == 0)
		message = exchange->remark;
	if (message.length == 0 && !find_message(body, arena, &message))
		message = str_trim(body);
	if (message.length == 0)
		message = refused_type(exchange, arena);
	REJECT_SET(reject->message, message);
}

/* Of a request that failed before anybody asked for its tenant it is asked now. */
static bool keep_tenant(const struct exchange *exchange, struct reject *reject)
{
	struct str tenant = exchange->tenant;
	struct error ignored = { 0 };

	if (tenant.length == 0 && tenant_of(exchange, &tenant, &ignored) < 0)
		return false;
	REJECT_SET(reject->tenant, tenant);
	return true;
}

void reject_note(const struct exchange *exchange)
{
	const struct http_request *request = &exchange->request;
	const int status = error_http_status(&exchange->response);
	const struct str *agent;
	struct reject reject;

	if (!exchange->route || !(exchange->route->flags & ROUTE_WRITE) ||
	    (status < 400 && exchange->remark.length == 0))
		return;
	reject = (struct reject){
		.time_unix_ns = clock_unix_ns(),
		.route = exchange->route->path,
		.reason = status < 400 ? REJECT_REASON_NOTHING : reject_reason(status),
		.status = status,
		.body_bytes = request->body.length,
	};
	metric_add(METRIC_OF(exchange->app->metrics->writes_rejected,
	                     str_of(exchange->route->label), str_of(reject.reason)),
	           1);
	/* What names no tenant is nobody's: it is counted, and shown to none. */
	if (!keep_tenant(exchange, &reject))
		return;
	agent = http_request_header(request, "User-Agent");
	if (agent)
		REJECT_SET(reject.agent, *agent);
	name_sender(exchange, &reject);
	keep_message(exchange, &reject);
	REJECT_SET(reject.first, request->body);
	rejects_add(exchange->app->rejects, &reject);
}
