#include "base/http_client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

#define DEFAULT_TIMEOUT_MS 30000
#define CONNECT_TIMEOUT_MS 10000

struct http_client {
	CURL *easy;
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
	if (global_result == CURLE_OK)
		client->easy = curl_easy_init();
	if (!client->easy)
		return error_set(err, ERROR_UNAVAILABLE, "curl does not start");
	*out = TAKE(client);
	return 0;
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	curl_easy_cleanup(client->easy);
	free(client);
}

static size_t take_answer(char *data, size_t one, size_t length, void *context)
{
	struct strbuf *answer = context;

	(void)one; /* always 1 */
	strbuf_add(answer, data, length);
	return strbuf_overflowed(answer) ? 0 : length;
}

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

/* Everything but what never fails on a handle of its own: see curl_easy_setopt. */
static CURLcode set_options(struct http_client *client, const struct http_client_request *request,
                            struct curl_slist *headers, struct strbuf *answer)
{
	const long timeout_ms = request->timeout_ms ? (long)request->timeout_ms
	                                            : DEFAULT_TIMEOUT_MS;
	CURL *easy = client->easy;
	CURLcode result;

	curl_easy_reset(easy); /* connections stay */
	client->problem[0] = '\0';
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, client->problem);
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	/* the empty name keeps the proxies of the environment out, too */
	result = curl_easy_setopt(easy, CURLOPT_PROXY, "");
	if (result == CURLE_OK)
		result = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	if (result == CURLE_OK)
		result = curl_easy_setopt(easy, CURLOPT_USERAGENT, "vramscope");
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

static int fail(const struct http_client *client, CURLcode result, const struct strbuf *answer,
                struct error *err)
{
	const char *problem = client->problem[0] ? client->problem : curl_easy_strerror(result);

	if (strbuf_overflowed(answer))
		return error_set(err, ERROR_TOO_LARGE, "the answer is larger than %zu bytes",
		                 answer->limit);
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

int http_client_do(struct http_client *client, const struct http_client_request *request,
                   struct strbuf *answer, int *out_status, struct error *err)
{
	struct curl_slist *headers = NULL;
	long status = 0;
	CURLcode result = CURLE_OUT_OF_MEMORY;

	if (make_headers(request, &headers) == 0) {
		result = set_options(client, request, headers, answer);
		if (result == CURLE_OK)
			result = curl_easy_perform(client->easy);
		if (result == CURLE_OK)
			result = curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
		curl_slist_free_all(headers);
	}
	if (result != CURLE_OK)
		return fail(client, result, answer, err);
	*out_status = (int)status;
	return 0;
}
