#include "base/http_client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define DEFAULT_TIMEOUT_MS 30000
#define CONNECT_TIMEOUT_MS 10000
#define POLL_MS            1000
#define KEEPALIVE_S        30 /* a guess: a peer that is gone is noticed in minutes */

struct http_client {
	CURL *easy;
	CURLM *multi; /* what it is driven by, so that it may be cancelled */
	_Atomic bool is_cancelled;
	char problem[CURL_ERROR_SIZE];
};

static CURLcode global_result;

static void init_curl(void)
{
	global_result = curl_global_init(CURL_GLOBAL_DEFAULT);
}

int http_client_new(struct http_client **out, struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	CLEANUP(http_client_freep) struct http_client *client = mem_zalloc(1, sizeof(*client));

	(void)pthread_once(&once, init_curl);
	if (global_result == CURLE_OK) {
		client->easy = curl_easy_init();
		client->multi = curl_multi_init();
	}
	if (!client->easy || !client->multi)
		return error_set(err, ERROR_UNAVAILABLE, "curl does not start");
	*out = TAKE(client);
	return 0;
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	curl_easy_cleanup(client->easy);
	(void)curl_multi_cleanup(client->multi);
	free(client);
}

/* ---- the URL ---- */

/* What curl would make something of, and nobody means. */
static const char *strange_host(CURLU *url, const char *text)
{
	const char *problem = NULL;
	char *host = NULL;
	char *port = NULL;
	const char *authority = strstr(text, "://");

	if (!authority || authority[3] == '/')
		return "no host";
	if (curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK || !host[0] ||
	    (host[0] != '[' && strpbrk(host, "%\\")))
		problem = "no host";
	else if (curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
	         strtoul(port, NULL, 10) == 0)
		problem = "port 0";
	curl_free(host);
	curl_free(port);
	return problem;
}

static const char *problem_of(CURLU *url, const char *text)
{
	const char *problem = NULL;
	char *scheme = NULL;
	const CURLUcode code = curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME);

	if (code != CURLUE_OK)
		return curl_url_strerror(code);
	if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		problem = "its scheme is neither http nor https";
	else
		problem = strange_host(url, text);
	curl_free(scheme);
	return problem;
}

int http_client_check_url(const char *url, struct error *err)
{
	CURLU *parsed = curl_url();
	const char *problem = parsed ? problem_of(parsed, url) : "curl does not start";

	curl_url_cleanup(parsed);
	if (!problem)
		return 0;
	return error_set(err, ERROR_INVALID, "'%s' is no URL: http://HOST:PORT is expected (%s)",
	                 url, problem);
}

/* ---- a request ---- */

/* The headers of the request, and without those that curl would add by itself. */
static int make_headers(const struct http_client_request *request, struct curl_slist **out)
{
	static const char *const unwanted[] = { "Expect:", "Content-Type:" };
	struct curl_slist *list = NULL;
	struct curl_slist *longer;
	bool has_type = false;

	for (size_t i = 0; request->headers && request->headers[i]; i++) {
		const struct str header = str_of(request->headers[i]);
		const struct str type = str_of(unwanted[1]);

		if (str_equal_ignoring_case(str_first(header, type.length), type))
			has_type = true;
		longer = curl_slist_append(list, request->headers[i]);
		if (!longer)
			goto err;
		list = longer;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(unwanted) - has_type; i++) {
		longer = curl_slist_append(list, unwanted[i]);
		if (!longer)
			goto err;
		list = longer;
	}
	*out = list;
	return 0;
err:
	curl_slist_free_all(list);
	return -1;
}

/* Who gets the body: curl's kind of function and its context. */
struct body_taker {
	size_t (*take)(char *data, size_t one, size_t length, void *context);
	void *context;
};

/* Everything but what never fails on a handle of its own: see curl_easy_setopt. */
static CURLcode set_options(struct http_client *client, const struct http_client_request *request,
                            struct curl_slist *headers, const struct body_taker *taker)
{
	const long timeout_ms = request->timeout_ms ? (long)request->timeout_ms
	                                            : DEFAULT_TIMEOUT_MS;
	CURL *easy = client->easy;
	CURLcode result;

	client->problem[0] = '\0';
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, client->problem);
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
	/* an end does not wait for a name server */
	(void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_S);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, taker->take);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, taker->context);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	/* the empty name keeps the proxies of the environment out, too */
	result = curl_easy_setopt(easy, CURLOPT_PROXY, "");
	if (result == CURLE_OK)
		result = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	if (result == CURLE_OK)
		result = curl_easy_setopt(easy, CURLOPT_USERAGENT, "vramscope");
	if (result == CURLE_OK && request->ca_file)
		result = curl_easy_setopt(easy, CURLOPT_CAINFO, request->ca_file);
	if (result == CURLE_OK && request->gzip)
		result = curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
	if (result == CURLE_OK)
		result = curl_easy_setopt(easy, CURLOPT_URL, request->url);
	if (result != CURLE_OK)
		return result;
	if (strcmp(request->method, "HEAD") == 0)
		return curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	if (request->body.length > 0 || strcmp(request->method, "POST") == 0) {
		(void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
		                       (curl_off_t)request->body.length);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
		                       request->body.length ? request->body.data : "");
	}
	return curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static int fail(const struct http_client *client, CURLcode result, struct error *err)
{
	const char *problem = client->problem[0] ? client->problem : curl_easy_strerror(result);

	switch (result) {
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return error_set(err, ERROR_INVALID, "%s", problem);
	case CURLE_OPERATION_TIMEDOUT:
		return error_set(err, ERROR_TIMED_OUT, "%s", problem);
	default:
		return error_set(err, ERROR_UNAVAILABLE, "%s", problem);
	}
}

/* Until it is done, or nobody wants it any more: then CURLE_ABORTED_BY_CALLBACK. */
static CURLcode drive(struct http_client *client)
{
	CURLcode result = CURLE_ABORTED_BY_CALLBACK;
	const CURLMsg *message;
	int running = 1;
	int left;

	if (curl_multi_add_handle(client->multi, client->easy) != CURLM_OK)
		return CURLE_FAILED_INIT;
	while (running > 0 && !client->is_cancelled) {
		if (curl_multi_perform(client->multi, &running) != CURLM_OK ||
		    (running > 0 &&
		     curl_multi_poll(client->multi, NULL, 0, POLL_MS, NULL) != CURLM_OK)) {
			result = CURLE_FAILED_INIT;
			break;
		}
	}
	while ((message = curl_multi_info_read(client->multi, &left)))
		if (message->msg == CURLMSG_DONE)
			result = message->data.result;
	(void)curl_multi_remove_handle(client->multi, client->easy);
	return result;
}

static CURLcode perform(struct http_client *client, const struct http_client_request *request,
                        const struct body_taker *taker)
{
	struct curl_slist *headers = NULL;
	CURLcode result = CURLE_OUT_OF_MEMORY;

	curl_easy_reset(client->easy); /* nothing is left of the last answer; connections stay */
	if (make_headers(request, &headers) < 0)
		return result;
	result = set_options(client, request, headers, taker);
	if (result == CURLE_OK)
		result = drive(client);
	curl_slist_free_all(headers);
	return result;
}

/* ---- answers ---- */

/* One that only says "go on" is none. */
static int status_of(const struct http_client *client)
{
	long status = 0;

	(void)curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
	return status < 200 ? 0 : (int)status;
}

struct http_client_answer http_client_last(const struct http_client *client)
{
	curl_off_t retry_after = 0;

	(void)curl_easy_getinfo(client->easy, CURLINFO_RETRY_AFTER, &retry_after);
	return (struct http_client_answer){ .status = status_of(client),
		                            .retry_after_s = (int64_t)retry_after };
}

static size_t take_answer(char *data, size_t one, size_t length, void *context)
{
	struct strbuf *answer = context;

	(void)one; /* always 1 */
	strbuf_add(answer, data, length);
	return strbuf_overflowed(answer) ? 0 : length;
}

int http_client_do(struct http_client *client, const struct http_client_request *request,
                   struct strbuf *answer, int *out_status, struct error *err)
{
	const struct body_taker taker = { take_answer, answer };
	const CURLcode result = perform(client, request, &taker);

	if (client->is_cancelled)
		return error_set(err, ERROR_CANCELLED, "nobody waits for the answer any more");
	if (strbuf_overflowed(answer))
		return error_set(err, ERROR_TOO_LARGE, "the answer is larger than %zu bytes",
		                 answer->limit);
	if (result != CURLE_OK)
		return fail(client, result, err);
	*out_status = status_of(client);
	return 0;
}

/* ---- streams ---- */

struct streaming {
	struct http_client *client;
	const struct http_client_body *body;
};

static bool is_error(const struct http_client *client)
{
	return status_of(client) >= 300;
}

static size_t hand_on(char *data, size_t one, size_t length, void *context)
{
	const struct streaming *streaming = context;
	const struct http_client_body *body = streaming->body;

	(void)one; /* always 1 */
	if (is_error(streaming->client))
		return 0; /* its status says all */
	return body->take(body->context, str_make(data, length)) < 0 ? 0 : length;
}

int http_client_stream(struct http_client *client, const struct http_client_request *request,
                       const struct http_client_body *body, struct http_client_answer *out,
                       struct error *err)
{
	struct streaming streaming = { client, body };
	const struct body_taker taker = { hand_on, &streaming };
	const CURLcode result = perform(client, request, &taker);

	if (client->is_cancelled)
		return error_set(err, ERROR_CANCELLED, "nobody waits for the answer any more");
	if (result == CURLE_WRITE_ERROR && !is_error(client))
		return error_set(err, ERROR_TOO_LARGE, "the answer is larger than it may be");
	if (result != CURLE_OK && result != CURLE_WRITE_ERROR)
		return fail(client, result, err);
	*out = http_client_last(client);
	return 0;
}

void http_client_cancel(struct http_client *client)
{
	client->is_cancelled = true;
	(void)curl_multi_wakeup(client->multi);
}
