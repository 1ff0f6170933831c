/*
 * Outgoing HTTP: curl behind a face of ours.
 *
 * Shape    one request at a time on a client, connections are reused. Only http and
 *          https; redirects are answers, not followed; proxies of the environment are
 *          not used.
 * Errors   ERROR_UNAVAILABLE when nobody answers, ERROR_TIMED_OUT when the answer comes
 *          too late, ERROR_TOO_LARGE when it is larger than the limit, ERROR_INVALID for
 *          a bad URL; messages leave it to the caller to name the URL. An HTTP status of
 *          400 and more is an answer, not an error.
 * Threads  a client belongs to one thread; http_client_cancel(): any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/strbuf.h"

struct http_client;

struct http_client_request {
	const char *method;
	const char *url;
	const char *const *headers; /* "Name: value", NULL behind the last; or NULL */
	struct str body;
	int64_t timeout_ms;  /* 0: 30,000 */
	bool gzip;           /* accept a compressed answer */
	const char *ca_file; /* who signs the server's certificate; NULL: whom the system trusts */
};

struct http_client_answer {
	int status;
	int64_t retry_after_s; /* as its header says; 0: nothing */
};

/* ERROR_INVALID for what is no http or https URL with a host, whatever its case. */
int http_client_check_url(const char *url, struct error *err);

int http_client_new(struct http_client **out, struct error *err);
void http_client_free(struct http_client *client);
DEFINE_FREEP(http_client)

/*
 * Appends the body of the answer to `answer` (whose limit bounds it, inflated when it was
 * compressed) and gives its status.
 */
int http_client_do(struct http_client *client, const struct http_client_request *request,
                   struct strbuf *answer, int *out_status, struct error *err);

/*
 * Hands the body of a 2xx on as it comes; bodies of others are not read. take() says -1
 * when it wants no more, which is ERROR_TOO_LARGE. Ends with ERROR_CANCELLED once
 * http_client_cancel() was called.
 */
struct http_client_body {
	int (*take)(void *context, struct str bytes);
	void *context;
};

int http_client_stream(struct http_client *client, const struct http_client_request *request,
                       const struct http_client_body *body, struct http_client_answer *out,
                       struct error *err);

/* What is known of the last answer, also when it was cut short; status 0: none has begun. */
struct http_client_answer http_client_last(const struct http_client *client);

/* What is under way ends soon with ERROR_CANCELLED, and whatever is begun later at once. */
void http_client_cancel(struct http_client *client);
