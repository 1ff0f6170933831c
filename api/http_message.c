#include "api/http_message.h"

#include <assert.h>

const struct str *http_request_header(const struct http_request *request, const char *name)
{
	const struct str wanted = str_of(name);

	for (size_t i = 0; i < request->header_count; i++)
		if (str_equal_ignoring_case(request->headers[i].name, wanted))
			return &request->headers[i].value;
	return NULL;
}

struct str http_request_media_type(const struct http_request *request)
{
	const struct str *value = http_request_header(request, "Content-Type");
	ptrdiff_t end;

	if (!value)
		return STR("");
	end = str_index(*value, ';');
	return str_trim(end < 0 ? *value : str_first(*value, (size_t)end));
}

void http_response_init(struct http_response *response, size_t body_limit)
{
	*response = (struct http_response){ .status = 200 };
	strbuf_init(&response->body, body_limit);
}

void http_response_fini(struct http_response *response)
{
	strbuf_fini(&response->body);
}

void http_response_reset(struct http_response *response, int status)
{
	response->status = status;
	response->header_count = 0;
	response->trailer_count = 0;
	response->failure.code = ERROR_NONE;
	strbuf_reset(&response->body);
}

void http_response_header(struct http_response *response, const char *name, struct str value)
{
	assert(response->header_count < HTTP_RESPONSE_HEADERS_MAX);
	response->headers[response->header_count++] = (struct http_header){ str_of(name), value };
}

void http_response_trailer(struct http_response *response, const char *name, struct str value)
{
	assert(response->trailer_count < HTTP_RESPONSE_TRAILERS_MAX);
	response->trailers[response->trailer_count++] = (struct http_header){ str_of(name), value };
}

const struct str *http_response_find_header(const struct http_response *response, const char *name)
{
	const struct str wanted = str_of(name);

	for (size_t i = 0; i < response->header_count; i++)
		if (str_equal_ignoring_case(response->headers[i].name, wanted))
			return &response->headers[i].value;
	return NULL;
}

void http_response_text(struct http_response *response, int status, const char *content_type,
                        struct str body)
{
	http_response_reset(response, status);
	http_response_header(response, "Content-Type", str_of(content_type));
	strbuf_add_str(&response->body, body);
}
