#include "server/push/push_http.h"

#include <stdlib.h>
#include <string.h>

#include "base/http_client.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "server/push/push_message.h"

#define URL_BYTES_MAX    8192
#define ANSWER_BYTES_MAX ((size_t)64 << 10)
#define ANSWER_TEXT_MAX  200
#define TIMEOUT_MS       30000

struct push_http {
	struct http_client *client;
	struct strbuf url;
	struct strbuf tenant_header;
};

void push_http_free(struct push_http *http)
{
	if (!http)
		return;
	http_client_free(http->client);
	strbuf_fini(&http->url);
	strbuf_fini(&http->tenant_header);
	free(http);
}

int push_http_open(const char *url, const char *tenant, struct push_http **out, struct error *err)
{
	CLEANUP(push_http_freep) struct push_http *http = mem_zalloc(1, sizeof(*http));
	struct str text = str_of(url);

	strbuf_init(&http->url, URL_BYTES_MAX);
	strbuf_init(&http->tenant_header, URL_BYTES_MAX);
	while (str_ends_with(text, STR("/")))
		text.length--;
	if (!str_starts_with(text, STR("http://")) && !str_starts_with(text, STR("https://")))
		return error_set(err, ERROR_INVALID, "'%s' is no URL: http://HOST:PORT", url);
	/* a route follows it, and it stands in the log */
	if (str_find(text, STR("@")) >= 0 || str_find(text, STR("?")) >= 0 ||
	    str_find(text, STR("#")) >= 0)
		return error_set(
			err, ERROR_INVALID,
			"a URL with '@', '?' or '#': http://HOST:PORT is expected, without "
			"password and query");
	strbuf_add_str(&http->url, text);
	strbuf_add_text(&http->url, PUSH_MESSAGE_PATH);
	if (*tenant)
		strbuf_printf(&http->tenant_header, "X-Scope-OrgID: %s", tenant);
	if (strbuf_overflowed(&http->url) || strbuf_overflowed(&http->tenant_header))
		return error_set(err, ERROR_INVALID, "a URL or tenant of more than %d bytes",
		                 URL_BYTES_MAX);
	if (http_client_new(&http->client, err) < 0)
		return -1;
	*out = TAKE(http);
	return 0;
}

static enum push_outcome judge(const struct push_http *http, int status, struct str answer,
                               struct error *err)
{
	if (status >= 200 && status < 300)
		return PUSH_DELIVERED;
	(void)error_set(err, ERROR_UNAVAILABLE, "%s answered %d: %.*s", http->url.data, status,
	                STR_ARGS(str_trim(str_first(answer, ANSWER_TEXT_MAX))));
	if (status == 408 || status == 429 || (status >= 500 && status != 501))
		return PUSH_RETRY;
	return PUSH_REFUSED;
}

static enum push_outcome deliver(void *context, struct str request, struct error *err)
{
	const struct push_http *http = context;
	const char *headers[] = { "Content-Type: " PUSH_MESSAGE_TYPE,
		                  http->tenant_header.length > 0 ? http->tenant_header.data : NULL,
		                  NULL };
	CLEANUP(strbuf_fini) struct strbuf answer;
	int status = 0;

	strbuf_init(&answer, ANSWER_BYTES_MAX);
	if (http_client_do(http->client,
	                   &(struct http_client_request){ .method = "POST",
	                                                  .url = http->url.data,
	                                                  .headers = headers,
	                                                  .body = request,
	                                                  .timeout_ms = TIMEOUT_MS },
	                   &answer, &status, err) < 0) {
		(void)error_context(err, "%s", http->url.data);
		return PUSH_RETRY;
	}
	return judge(http, status, strbuf_view(&answer), err);
}

struct push_transport push_http_transport(struct push_http *http)
{
	return (struct push_transport){ .deliver = deliver, .context = http };
}
