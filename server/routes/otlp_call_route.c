/*
 * POST /opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export: OTLP
 * profiles over gRPC and gRPC-Web. What exporters send over HTTP is taken here too, as the
 * reference does.
 *
 * Source   ingest specification, 1.1, 5.6 and 11.3
 */
#include "api/error_json.h"
#include "api/grpc.h"
#include "server/routes/handlers.h"
#include "server/routes/ingestion_metrics.h"
#include "server/routes/otlp_export.h"
#include "server/routes/rpc.h"
#include "server/tenant.h"

/* As a Connect answer, which is made one of gRPC when it is sent. */
static void answer(struct exchange *exchange, enum error_code code, struct str message)
{
	const struct str type = http_request_media_type(&exchange->request);
	struct http_response *response = &exchange->response;
	struct error err = { 0 };

	if (code != ERROR_NONE) {
		(void)error_set(&err, code, "%.*s", STR_ARGS(message));
		connect_fail(&err, response);
		return;
	}
	http_response_reset(response, 200);
	if (str_ends_with(type, STR("json"))) /* an empty message has no bytes else */
		strbuf_add_text(&response->body, "{}");
}

static enum exchange_state serve_plain(struct exchange *exchange)
{
	struct error err = { 0 };

	if (tenant_of(exchange, &exchange->tenant, &err) == 0)
		return serve_otlp(exchange);
	error_json_plain(error_connect_status(err.code), err.message, &exchange->response);
	return EXCHANGE_DONE;
}

enum exchange_state serve_otlp_call(struct exchange *exchange)
{
	struct connect_call call;

	if (!grpc_is_known(&exchange->request))
		return serve_plain(exchange);
	if (!rpc_accept(exchange, &call)) {
		ingestion_metrics_refused(exchange, OTLP_FORMAT);
		return EXCHANGE_DONE;
	}
	return otlp_export(exchange, &(struct otlp_export){
					     .message = call.message,
					     .encoding = call.codec == CONNECT_JSON ? OTLP_JSON
	                                                                            : OTLP_PROTOBUF,
					     .version = otlp_export_version(exchange),
					     .answer = answer,
				     });
}
