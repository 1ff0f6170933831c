#include "server/push/push_http.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/http_client.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "server/bearer_token.h"
#include "server/push/push_message.h"

#define URL_BYTES_MAX      8192
#define ANSWER_BYTES_MAX   ((size_t)64 << 10)
#define ANSWER_TEXT_MAX    200
#define TIMEOUT_MS         30000
#define RETRY_AFTER_MOST_S 300 /* a guess: whoever asks for more is asked before */

struct push_http {
	struct push_http_options options;
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

/* A route follows it, and it stands in the log. */
static int check_url(const char *url, struct error *err)
{
	if (strpbrk(url, "@?#"))
		return error_set(
			err, ERROR_INVALID,
			"a URL with '@', '?' or '#': http://HOST:PORT is expected, without "
			"password and query");
	return http_client_check_url(url, err);
}

/* What would fail at every push fails at once. */
static int check_token(const struct push_http *http, struct error *err)
{
	CLEANUP(strbuf_fini) struct strbuf header;

	strbuf_init(&header, BEARER_TOKEN_MAX);
	return bearer_token_header(http->options.token_file, &header, err);
}

int push_http_open(const struct push_http_options *options, struct push_http **out,
                   struct error *err)
{
	CLEANUP(push_http_freep) struct push_http *http = mem_zalloc(1, sizeof(*http));
	struct str text = str_of(options->url);

	http->options = *options;
	strbuf_init(&http->url, URL_BYTES_MAX);
	strbuf_init(&http->tenant_header, URL_BYTES_MAX);
	if (check_url(options->url, err) < 0 || check_token(http, err) < 0)
		return -1;
	while (str_ends_with(text, STR("/")))
		text.length--;
	strbuf_add_str(&http->url, text);
	strbuf_add_text(&http->url, PUSH_MESSAGE_PATH);
	if (*options->tenant)
		strbuf_printf(&http->tenant_header, "X-Scope-OrgID: %s", options->tenant);
	if (strbuf_overflowed(&http->url) || strbuf_overflowed(&http->tenant_header))
		return error_set(err, ERROR_INVALID, "a URL or tenant of more than %d bytes",
		                 URL_BYTES_MAX);
	if (http_client_new(&http->client, err) < 0)
		return -1;
	*out = TAKE(http);
	return 0;
}

/* Not before it was asked for, as long as that is within reason. */
static struct push_answer try_again(int64_t retry_after_s)
{
	return (struct push_answer){
		.outcome = PUSH_RETRY,
		.pause_ns =
			(retry_after_s < RETRY_AFTER_MOST_S ? retry_after_s : RETRY_AFTER_MOST_S) *
			NS_PER_S,
	};
}

static struct push_answer judge(const struct push_http *http,
                                const struct http_client_answer *answer, struct str text,
                                struct error *err)
{
	const int status = answer->status;
	const bool is_redirect = status >= 300 && status < 400;

	if (status >= 200 && status < 300)
		return (struct push_answer){ .outcome = PUSH_DELIVERED };
	(void)error_set(err, ERROR_UNAVAILABLE, "%s answered %d: %.*s", http->url.data, status,
	                STR_ARGS(is_redirect ? STR("redirects are not followed")
	                                     : str_trim(str_first(text, ANSWER_TEXT_MAX))));
	if (status == 408 || status == 429 || (status >= 500 && status != 501))
		return try_again(answer->retry_after_s);
	return (struct push_answer){ .outcome = PUSH_REFUSED };
}

/* An answer that is too large, late or cut short has a status all the same. */
static struct push_answer deliver(void *context, struct str request, struct error *err)
{
	const struct push_http *http = context;
	const char *headers[4] = { "Content-Type: " PUSH_MESSAGE_TYPE };
	size_t count = 1;
	const struct http_client_request post = { .method = "POST",
		                                  .url = http->url.data,
		                                  .headers = headers,
		                                  .body = request,
		                                  .timeout_ms = TIMEOUT_MS,
		                                  .ca_file = *http->options.ca_file
		                                                     ? http->options.ca_file
		                                                     : NULL };
	CLEANUP(strbuf_fini) struct strbuf text;
	CLEANUP(strbuf_fini) struct strbuf token;
	struct http_client_answer answer;
	int status;
	int result;

	strbuf_init(&text, ANSWER_BYTES_MAX);
	strbuf_init(&token, BEARER_TOKEN_MAX);
	if (bearer_token_header(http->options.token_file, &token, err) < 0)
		return (struct push_answer){ .outcome = PUSH_RETRY };
	if (http->tenant_header.length > 0)
		headers[count++] = http->tenant_header.data;
	if (token.length > 0)
		headers[count] = token.data;
	result = http_client_do(http->client, &post, &text, &status, err);
	answer = http_client_last(http->client);
	if (answer.status != 0)
		return judge(http, &answer, strbuf_view(&text), err);
	if (result < 0)
		(void)error_context(err, "%s", http->url.data);
	return (struct push_answer){ .outcome = PUSH_RETRY };
}

static void cancel(void *context)
{
	const struct push_http *http = context;

	http_client_cancel(http->client);
}

struct push_transport push_http_transport(struct push_http *http)
{
	return (struct push_transport){ .deliver = deliver, .cancel = cancel, .context = http };
}
