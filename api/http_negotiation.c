#include "api/http_negotiation.h"

#include "base/gzip.h"

/* Takes the next header of that name at or behind *at. */
static const struct str *next_header(const struct http_request *request, const char *name,
                                     size_t *at)
{
	const struct str wanted = str_of(name);

	while (*at < request->header_count) {
		const struct http_header *header = &request->headers[(*at)++];

		if (str_equal_ignoring_case(header->name, wanted))
			return &header->value;
	}
	return NULL;
}

/* Splits "name=value" and trims both; value is empty without '='. */
static struct str parameter(struct str text, struct str *out_value)
{
	const ptrdiff_t equals = str_index(text, '=');

	if (equals < 0) {
		*out_value = STR("");
		return str_trim(text);
	}
	*out_value = str_trim(str_skip(text, (size_t)equals + 1));
	return str_trim(str_first(text, (size_t)equals));
}

static struct str unquoted(struct str value)
{
	if (value.length >= 2 && value.data[0] == '"' && value.data[value.length - 1] == '"')
		return str_make(value.data + 1, value.length - 2);
	return value;
}

static bool element_has_capability(struct str element)
{
	struct str part;

	while (str_split(&element, ';', &part)) {
		struct str value;
		const struct str name = parameter(part, &value);

		if (str_equal_ignoring_case(name, STR("allow-utf8-labelnames")) &&
		    str_equals(unquoted(value), "true"))
			return true;
	}
	return false;
}

bool http_accepts_utf8_label_names(const struct http_request *request)
{
	const struct str *header;

	for (size_t at = 0; (header = next_header(request, "Accept", &at));) {
		struct str rest = *header;
		struct str element;

		while (str_split(&rest, ',', &element))
			if (element_has_capability(element))
				return true;
	}
	return false;
}

/* A quality is zero when it is written with zeros only: "0", "0.", "0.000". */
static bool quality_is_zero(struct str value)
{
	if (value.length == 0 || value.data[0] != '0')
		return false;
	for (size_t i = 1; i < value.length; i++)
		if (value.data[i] != '0' && value.data[i] != '.')
			return false;
	return true;
}

enum coding_wish {
	CODING_OTHER,
	CODING_WANTED,
	CODING_REFUSED,
};

/* What one element of Accept-Encoding says about `coding`. */
static enum coding_wish coding_wish(struct str element, struct str coding)
{
	struct str part;

	if (!str_split(&element, ';', &part) || !str_equal_ignoring_case(str_trim(part), coding))
		return CODING_OTHER;
	while (str_split(&element, ';', &part)) {
		struct str value;

		if (str_equal_ignoring_case(parameter(part, &value), STR("q")))
			return quality_is_zero(value) ? CODING_REFUSED : CODING_WANTED;
	}
	return CODING_WANTED;
}

bool http_accepts_gzip(const struct http_request *request)
{
	bool any = false;
	const struct str *header;

	for (size_t at = 0; (header = next_header(request, "Accept-Encoding", &at));) {
		struct str rest = *header;
		struct str element;

		while (str_split(&rest, ',', &element)) {
			const enum coding_wish wish = coding_wish(element, STR("gzip"));

			if (wish != CODING_OTHER)
				return wish == CODING_WANTED;
			any |= coding_wish(element, STR("*")) == CODING_WANTED;
		}
	}
	return any;
}

bool http_lists_gzip(const struct http_request *request)
{
	const struct str *header = http_request_header(request, "Accept-Encoding");
	struct str rest = header ? *header : STR("");
	struct str element;

	while (str_split(&rest, ',', &element)) {
		struct str token;

		while (str_split(&element, ' ', &token))
			if (str_equals(token, "gzip"))
				return true;
	}
	return false;
}

int http_read_coding(const struct http_request *request, const char *header, enum http_coding *out,
                     struct error *err)
{
	const struct str *sent = http_request_header(request, header);

	*out = sent && str_equals(*sent, "gzip") ? HTTP_GZIP : HTTP_IDENTITY;
	if (!sent || *out == HTTP_GZIP || sent->length == 0 || str_equals(*sent, "identity"))
		return 0;
	return error_set(err, ERROR_UNIMPLEMENTED,
	                 "unknown compression \"%.*s\": supported encodings are gzip",
	                 STR_ARGS(str_first(*sent, 64)));
}

void http_response_gzip(struct http_response *response)
{
	struct strbuf packed;

	if (strbuf_overflowed(&response->body))
		return;
	strbuf_init(&packed, response->body.limit);
	gzip_deflate(strbuf_view(&response->body), &packed);
	strbuf_fini(&response->body);
	response->body = packed;
	http_response_header(response, "Content-Encoding", STR("gzip"));
}

void http_compress_response(const struct http_request *request, struct http_response *response)
{
	if (http_response_find_header(response, "Content-Encoding"))
		return;
	http_response_header(response, "Vary", STR("Accept-Encoding"));
	if (response->body.length >= HTTP_COMPRESS_MIN && http_accepts_gzip(request))
		http_response_gzip(response);
}
