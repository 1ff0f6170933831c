#include "api/connect.h"

#include "base/clock.h"
#include "base/gzip.h"

#define TIMEOUT_DIGITS_MAX 10

static const struct {
	const char *type;
	enum connect_codec codec;
} codecs[] = {
	{ "application/json", CONNECT_JSON },
	{ "application/json; charset=utf-8", CONNECT_JSON },
	{ "application/proto", CONNECT_PROTO },
};

/* what a path of an RPC takes, Connect's and gRPC's */
#define ACCEPT_POST                                                                       \
	"application/grpc, application/grpc+json, application/grpc+json; charset=utf-8, " \
	"application/grpc+proto, application/grpc-web, application/grpc-web+json, "       \
	"application/grpc-web+json; charset=utf-8, application/grpc-web+proto, "          \
	"application/json, application/json; charset=utf-8, application/proto"

static void refuse(int status, const char *header, struct str value, struct http_response *response)
{
	http_response_reset(response, status);
	http_response_header(response, header, value);
}

/* The value of `charset` when that is the only parameter; false for other parameters. */
static bool read_charset(struct str parameters, struct str *out_charset)
{
	struct str part;

	*out_charset = STR("");
	while (str_split(&parameters, ';', &part)) {
		const struct str text = str_trim(part);
		const ptrdiff_t equals = str_index(text, '=');
		struct str value;

		if (text.length == 0 && parameters.data == NULL)
			break; /* nothing behind the last semicolon */
		if (equals < 0 || out_charset->length > 0 ||
		    !str_equal_ignoring_case(str_first(text, (size_t)equals), STR("charset")))
			return false;
		value = str_skip(text, (size_t)equals + 1);
		if (value.length >= 2 && value.data[0] == '"' &&
		    value.data[value.length - 1] == '"')
			value = str_make(value.data + 1, value.length - 2);
		if (value.length == 0)
			return false;
		*out_charset = value;
	}
	return true;
}

/* Finds the codec of a content type in any spelling. */
static bool find_codec(const struct http_request *request, struct connect_call *call)
{
	const struct str *header = http_request_header(request, "Content-Type");
	const struct str type = http_request_media_type(request);
	ptrdiff_t semicolon;
	struct str charset = STR("");
	size_t found;

	if (!header)
		return false;
	semicolon = str_index(*header, ';');
	if (semicolon >= 0 && !read_charset(str_skip(*header, (size_t)semicolon + 1), &charset))
		return false;
	if (charset.length > 0 && !str_equal_ignoring_case(charset, STR("utf-8")))
		return false;
	if (str_equal_ignoring_case(type, STR("application/json")))
		found = charset.length > 0 ? 1 : 0;
	else if (str_equal_ignoring_case(type, STR("application/proto")) && charset.length == 0)
		found = 2;
	else
		return false;
	call->codec = codecs[found].codec;
	call->content_type = str_of(codecs[found].type);
	return true;
}

static int check_version(const struct http_request *request, struct error *err)
{
	const struct str *version = http_request_header(request, "Connect-Protocol-Version");

	if (!version || version->length == 0 || str_equals(*version, "1"))
		return 0;
	return error_set(err, ERROR_INVALID, "Connect-Protocol-Version must be \"1\": got \"%.*s\"",
	                 STR_ARGS(str_first(*version, 64)));
}

static int read_timeout(const struct http_request *request, int64_t *out_ns, struct error *err)
{
	const struct str *text = http_request_header(request, "Connect-Timeout-Ms");
	int64_t ms;

	*out_ns = 0;
	if (!text || text->length == 0)
		return 0;
	if (text->length > TIMEOUT_DIGITS_MAX)
		return error_set(err, ERROR_INVALID, "parse timeout: \"%.*s\" has >%d digits",
		                 STR_ARGS(str_first(*text, 64)), TIMEOUT_DIGITS_MAX);
	if (!str_to_i64(*text, &ms))
		return error_set(err, ERROR_INVALID, "parse timeout: \"%.*s\" is not a number",
		                 STR_ARGS(*text));
	if (ms <= 0)
		return error_set(err, ERROR_TIMED_OUT, "context deadline exceeded");
	*out_ns = ms * NS_PER_MS;
	return 0;
}

static int too_large(size_t size, size_t limit, struct error *err)
{
	return error_set(err, ERROR_TOO_LARGE, "message size %zu is larger than configured max %zu",
	                 size, limit);
}

static int read_message(const struct http_request *request, enum http_coding coding,
                        size_t message_limit, struct arena *arena, struct connect_call *call,
                        struct error *err)
{
	if (request->body.length > message_limit)
		return too_large(request->body.length, message_limit, err);
	call->message = request->body;
	if (coding == HTTP_GZIP && request->body.length > 0 &&
	    gzip_inflate(request->body, message_limit, arena, &call->message, err) < 0)
		return error_context(err, "decompress");
	if (call->codec == CONNECT_JSON && call->message.length == 0)
		return error_set(err, ERROR_INVALID,
		                 "unmarshal message: zero-length payload is not a valid JSON "
		                 "object");
	return 0;
}

bool connect_accept(const struct http_request *request, size_t message_limit, struct arena *arena,
                    struct connect_call *call, struct http_response *response)
{
	struct error err = { 0 };
	enum http_coding coding;

	*call = (struct connect_call){ 0 };
	if (!str_equals(request->method, "POST")) {
		refuse(405, "Allow", STR("POST"), response);
		return false;
	}
	if (!find_codec(request, call)) {
		refuse(415, "Accept-Post", STR(ACCEPT_POST), response);
		return false;
	}
	call->utf8_label_names = http_accepts_utf8_label_names(request);
	if (http_read_coding(request, "Content-Encoding", &coding, &err) < 0 ||
	    check_version(request, &err) < 0 ||
	    read_timeout(request, &call->timeout_ns, &err) < 0 ||
	    read_message(request, coding, message_limit, arena, call, &err) < 0) {
		connect_fail(&err, response);
		return false;
	}
	call->gzip_answer = coding == HTTP_GZIP || http_lists_gzip(request);
	return true;
}

void connect_reply(const struct connect_call *call, struct http_response *response)
{
	response->status = 200;
	response->header_count = 0;
	http_response_header(response, "Content-Type", call->content_type);
	http_response_header(response, "Accept-Encoding", STR("gzip"));
	if (call->gzip_answer && response->body.length > 0)
		http_response_gzip(response);
	if (strbuf_overflowed(&response->body)) {
		struct error err = { 0 };

		(void)error_set(&err, ERROR_TOO_LARGE,
		                "the answer is larger than %zu bytes: ask for fewer nodes, series "
		                "or points",
		                response->body.limit);
		connect_fail(&err, response);
	}
}

void connect_fail(const struct error *err, struct http_response *response)
{
	error_json_connect(err, response);
	http_response_header(response, "Accept-Encoding", STR("gzip"));
}
