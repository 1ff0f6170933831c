/*
 * POST /v1development/profiles, and the path of the gRPC method: OTLP profiles over HTTP,
 * as protobuf or JSON.
 *
 * Source   ingest specification, 1.1, 1.3, 1.5, 1.6 and 5.1
 */
#include "api/error_json.h"
#include "base/gzip.h"
#include "base/zstd.h"
#include "server/app.h"
#include "server/byte_size.h"
#include "server/routes/handlers.h"
#include "server/routes/ingestion_metrics.h"
#include "server/routes/otlp_export.h"

#define TEXT_PLAIN "text/plain; charset=utf-8"
#define PROTOBUF   "application/x-protobuf"
#define JSON       "application/json"

static void refuse(struct exchange *exchange, int status, struct str message)
{
	struct http_response *response = &exchange->response;

	http_response_text(response, status, TEXT_PLAIN, message);
	strbuf_add_byte(&response->body, '\n');
	if (status == 503)
		http_response_header(response, "Retry-After", STR(ERROR_RETRY_AFTER));
}

static enum exchange_state refuse_early(struct exchange *exchange, int status,
                                        const struct error *err)
{
	refuse(exchange, status, str_of(err->message));
	ingestion_metrics_refused(exchange, OTLP_FORMAT);
	return EXCHANGE_DONE;
}

/* Exporters send again what is 429, 502, 503 or 504, and drop everything else. */
static int status_of(enum error_code code)
{
	switch (code) {
	case ERROR_INVALID:
		return 400;
	case ERROR_TOO_LARGE:
		return 413;
	case ERROR_NO_SPACE:
	case ERROR_CORRUPT:
	case ERROR_IO:
		return 503;
	default:
		return error_connect_status(code);
	}
}

static void answer(struct exchange *exchange, enum error_code code, struct str message)
{
	struct http_response *response = &exchange->response;
	const struct str type = http_request_media_type(&exchange->request);

	if (code != ERROR_NONE)
		refuse(exchange, status_of(code), message);
	else if (str_equal_ignoring_case(type, STR(JSON)))
		http_response_text(response, 200, JSON, STR("{}"));
	else
		http_response_text(response, 200, PROTOBUF, STR(""));
}

/* ---- the body ---- */

static bool is_protobuf(struct str type)
{
	return str_equal_ignoring_case(type, STR(PROTOBUF)) ||
	       str_equal_ignoring_case(type, STR("application/protobuf"));
}

static bool read_encoding(struct str type, enum otlp_encoding *out)
{
	*out = str_equal_ignoring_case(type, STR(JSON)) ? OTLP_JSON : OTLP_PROTOBUF;
	return *out == OTLP_JSON || is_protobuf(type);
}

static int inflate(struct exchange *exchange, size_t limit, struct str *out, struct error *err)
{
	const struct str *header = http_request_header(&exchange->request, "Content-Encoding");
	const struct str encoding = header ? str_trim(*header) : STR("");

	*out = exchange->request.body;
	if (str_equal_ignoring_case(encoding, STR("gzip")))
		return gzip_inflate(*out, limit, exchange->arena, out, err);
	if (str_equal_ignoring_case(encoding, STR("zstd")))
		return zstd_inflate(*out, limit, exchange->arena, out, err);
	if (encoding.length > 0 && !str_equal_ignoring_case(encoding, STR("identity")))
		return error_set(err, ERROR_INVALID,
		                 "Content-Encoding %.*s is not known: gzip, zstd or none",
		                 STR_ARGS(str_first(encoding, 64)));
	if (gzip_is(*out)) /* no message begins so */
		return error_set(err, ERROR_INVALID,
		                 "the body is gzip, and Content-Encoding does not say so");
	return 0;
}

static enum exchange_state refuse_body(struct exchange *exchange, size_t limit, struct error *err)
{
	char size[BYTE_SIZE_TEXT];

	switch (err->code) {
	case ERROR_TOO_LARGE:
		byte_size_decimal(limit, size);
		(void)error_set(err, ERROR_TOO_LARGE,
		                "uncompressed profile payload size exceeds limit of %s", size);
		break;
	case ERROR_INVALID:
		(void)error_context(err, "Failed to read request body");
		break;
	default:
		break;
	}
	return refuse_early(exchange, status_of(err->code), err);
}

enum exchange_state serve_otlp(struct exchange *exchange)
{
	const size_t configured = limits_get(exchange->app)->ingestion_body_bytes;
	const size_t limit = configured ? configured : exchange->app->memory.limit;
	const struct str type = http_request_media_type(&exchange->request);
	struct otlp_export request = { .version = otlp_export_version(exchange), .answer = answer };
	struct error err = { 0 };

	if (!read_encoding(type, &request.encoding)) {
		(void)error_set(&err, ERROR_INVALID, "Unsupported Content-Type: %.*s",
		                STR_ARGS(str_first(type, 200)));
		return refuse_early(exchange, 415, &err);
	}
	if (inflate(exchange, limit, &request.message, &err) < 0)
		return refuse_body(exchange, limit, &err);
	return otlp_export(exchange, &request);
}

enum exchange_state serve_otlp_elsewhere(struct exchange *exchange)
{
	/* what the path of profiles will be once the protocol is stable */
	refuse(exchange, 404, STR("404 page not found; did you mean /v1development/profiles?"));
	return EXCHANGE_DONE;
}
