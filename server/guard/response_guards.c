#include "server/guard/response_guards.h"

#include "base/cleanup.h"

/* Pages say what they may load themselves; nothing else is one. */
static const struct {
	const char *name;
	const char *value;
} guards[] = {
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "same-origin" },
	{ "X-Frame-Options", "SAMEORIGIN" },
	{ "Content-Security-Policy", "default-src 'none'; frame-ancestors 'self'" },
};

void response_guards_add(struct http_response *response)
{
	for (size_t i = 0; i < ARRAY_LENGTH(guards); i++)
		if (response->header_count < HTTP_RESPONSE_HEADERS_MAX &&
		    !http_response_find_header(response, guards[i].name))
			http_response_header(response, guards[i].name, str_of(guards[i].value));
}
