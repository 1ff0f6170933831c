#include "server/http/head_check.h"

#include "base/cleanup.h"

#define CONTENT_LENGTH_MAX INT64_MAX

static bool is_token(struct str name)
{
	for (size_t i = 0; i < name.length; i++) {
		const char c = name.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      (c != '\0' && strchr("!#$%&'*+-.^_`|~", c))))
			return false;
	}
	return name.length > 0;
}

/* Visible characters, blanks, tabs and bytes above 0x7f. */
static bool is_field_value(struct str value)
{
	for (size_t i = 0; i < value.length; i++) {
		const unsigned char c = (unsigned char)value.data[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

bool head_version_parse(struct str text, enum head_version *out)
{
	if (str_equals(text, "HTTP/1.1"))
		*out = HEAD_HTTP_1_1;
	else if (str_equals(text, "HTTP/1.0"))
		*out = HEAD_HTTP_1_0;
	else
		return false;
	return true;
}

/* What has been seen so far. */
struct seen {
	size_t lengths;
	size_t encodings;
	size_t hosts;
};

static int refuse(int status, const char *reason, const char **out_reason)
{
	*out_reason = reason;
	return status;
}

static int check_host(struct str value, const char **out_reason)
{
	for (size_t i = 0; i < value.length; i++) {
		const char c = value.data[i];

		if (c <= ' ' || strchr("/\\?#@,;\"<>", c))
			return refuse(400, "malformed Host header", out_reason);
	}
	return 0;
}

static int check_one(enum head_version version, const struct http_header *header, struct seen *seen,
                     struct head *head, const char **out_reason)
{
	if (!is_token(header->name))
		return refuse(400, "malformed header name", out_reason);
	if (!is_field_value(header->value))
		return refuse(400, "malformed header value", out_reason);
	if (str_equal_ignoring_case(header->name, STR("Content-Length"))) {
		if (seen->lengths++ > 0)
			return refuse(400, "repeated Content-Length", out_reason);
		if (!str_to_u64(str_trim(header->value), CONTENT_LENGTH_MAX, &head->content_length))
			return refuse(400, "bad Content-Length", out_reason);
	} else if (str_equal_ignoring_case(header->name, STR("Transfer-Encoding"))) {
		if (seen->encodings++ > 0 || version != HEAD_HTTP_1_1 ||
		    !str_equal_ignoring_case(str_trim(header->value), STR("chunked")))
			return refuse(400, "unsupported transfer encoding", out_reason);
		head->is_chunked = true;
	} else if (str_equal_ignoring_case(header->name, STR("Host"))) {
		if (seen->hosts++ > 0)
			return refuse(400, "repeated Host header", out_reason);
		return check_host(str_trim(header->value), out_reason);
	} else if (str_equal_ignoring_case(header->name, STR("Expect"))) {
		if (!str_equal_ignoring_case(str_trim(header->value), STR("100-continue")))
			return refuse(417, "unknown expectation", out_reason);
		head->expects_continue = true;
	}
	return 0;
}

int head_check(enum head_version version, const struct http_header *headers, size_t count,
               struct head *out_head, const char **out_reason)
{
	struct head head = { 0 };
	struct seen seen = { 0 };

	for (size_t i = 0; i < count; i++) {
		const int status = check_one(version, &headers[i], &seen, &head, out_reason);

		if (status != 0)
			return status;
	}
	if (seen.lengths > 0 && seen.encodings > 0)
		return refuse(400, "Content-Length beside Transfer-Encoding", out_reason);
	if (version == HEAD_HTTP_1_1 && seen.hosts == 0)
		return refuse(400, "missing required Host header", out_reason);
	*out_head = head;
	return 0;
}

bool head_split_target(struct str target, struct str *out_path, struct str *out_query)
{
	static const char *const schemes[] = { "http://", "https://" };
	ptrdiff_t mark;

	for (size_t i = 0; i < target.length; i++)
		if ((unsigned char)target.data[i] <= ' ' || target.data[i] == 0x7f)
			return false;
	for (size_t i = 0; i < ARRAY_LENGTH(schemes); i++) {
		const struct str scheme = str_of(schemes[i]);
		ptrdiff_t slash;

		if (!str_equal_ignoring_case(str_first(target, scheme.length), scheme))
			continue;
		target = str_skip(target, scheme.length);
		slash = str_index(target, '/');
		target = slash < 0 ? STR("/") : str_skip(target, (size_t)slash);
	}
	if (!str_starts_with(target, STR("/")))
		return false;
	mark = str_index(target, '?');
	*out_path = mark < 0 ? target : str_first(target, (size_t)mark);
	*out_query = mark < 0 ? STR("") : str_skip(target, (size_t)mark + 1);
	return true;
}
