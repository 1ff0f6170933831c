#include "api/error_json.h"

#include "base/json.h"

static const struct {
	const char *name;
	int status;
	int grpc_status;
} connect_errors[ERROR_CODE_COUNT] = {
	[ERROR_NONE] = { "unknown", 500, 2 },
	[ERROR_INVALID] = { "invalid_argument", 400, 3 },
	[ERROR_UNAUTHENTICATED] = { "unauthenticated", 401, 16 },
	[ERROR_FORBIDDEN] = { "permission_denied", 403, 7 },
	[ERROR_NOT_FOUND] = { "not_found", 404, 5 },
	[ERROR_EXISTS] = { "already_exists", 409, 6 },
	[ERROR_TOO_LARGE] = { "resource_exhausted", 429, 8 },
	[ERROR_RATE_LIMITED] = { "resource_exhausted", 429, 8 },
	[ERROR_CANCELLED] = { "canceled", 499, 1 },
	[ERROR_TIMED_OUT] = { "deadline_exceeded", 504, 4 },
	[ERROR_UNIMPLEMENTED] = { "unimplemented", 501, 12 },
	[ERROR_UNAVAILABLE] = { "unavailable", 503, 14 },
	[ERROR_NO_SPACE] = { "resource_exhausted", 507, 14 },
	[ERROR_CORRUPT] = { "data_loss", 500, 15 },
	[ERROR_IO] = { "internal", 500, 14 },
};

const char *error_connect_name(enum error_code code)
{
	return connect_errors[code < ERROR_CODE_COUNT ? code : ERROR_NONE].name;
}

int error_connect_status(enum error_code code)
{
	return connect_errors[code < ERROR_CODE_COUNT ? code : ERROR_NONE].status;
}

int error_http_status(const struct http_response *response)
{
	if (response->status < 400 && response->failure.code != ERROR_NONE)
		return error_connect_status(response->failure.code);
	return response->status;
}

int error_grpc_status(enum error_code code)
{
	return code == ERROR_NONE ? 0
	                          : connect_errors[code < ERROR_CODE_COUNT ? code : 0].grpc_status;
}

static void write_error(const char *code, const char *message, struct strbuf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	writer.escape_html = true;
	json_begin_map(&writer);
	json_key(&writer, "code");
	json_put_text(&writer, str_of(code));
	if (message[0] != '\0') {
		json_key(&writer, "message");
		json_put_text(&writer, str_of(message));
	}
	json_end_map(&writer);
}

void error_json_connect(const struct error *err, struct http_response *response)
{
	http_response_reset(response, error_connect_status(err->code));
	response->failure = *err;
	http_response_header(response, "Content-Type", STR("application/json"));
	if (err->code == ERROR_UNAVAILABLE)
		http_response_header(response, "Retry-After", STR(ERROR_RETRY_AFTER));
	write_error(error_connect_name(err->code), err->message, &response->body);
}

/* Ingest specification, 1.6. */
static const char *plain_name(int status)
{
	switch (status) {
	case 400:
	case 413:
		return "invalid_argument";
	case 401:
		return "unauthenticated";
	case 403:
		return "permission_denied";
	case 404:
		return "unimplemented";
	case 412:
		return "failed_precondition";
	case 429:
	case 431:
		return "resource_exhausted";
	case 499:
		return "canceled";
	case 502:
	case 503:
		return "unavailable";
	case 504:
		return "deadline_exceeded";
	default:
		return "unknown";
	}
}

void error_json_plain(int status, const char *message, struct http_response *response)
{
	http_response_reset(response, status);
	http_response_header(response, "Content-Type", STR("application/json"));
	http_response_header(response, "X-Content-Type-Options", STR("nosniff"));
	if (status == 503)
		http_response_header(response, "Retry-After", STR(ERROR_RETRY_AFTER));
	write_error(plain_name(status), message, &response->body);
	strbuf_add_byte(&response->body, '\n');
}
