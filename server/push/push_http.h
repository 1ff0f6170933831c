/*
 * A transport of push_queue.h: POST to a Pyroscope-compatible server.
 *
 * Errors   of delivering: nobody answers, 408, 429 and 5xx but 501 are worth another try,
 *          not before Retry-After where that is minutes at most; any other status is a
 *          refusal. Of the answer only its status counts, whatever comes behind it.
 * Threads  the queue's; any cancels.
 */
#pragma once

#include "server/push/push_queue.h"

struct push_http;

struct push_http_options {
	const char *url;        /* the server's, without the route */
	const char *tenant;     /* or empty */
	const char *token_file; /* read for each push; empty: what the environment says */
	const char *ca_file; /* who signs the server's certificate; empty: whom the system trusts */
};

/*
 * ERROR_INVALID for what is no http or https URL, for one with a password, a query or a
 * fragment, and for no token. The options' texts outlive it.
 */
int push_http_open(const struct push_http_options *options, struct push_http **out,
                   struct error *err);
void push_http_free(struct push_http *http);
DEFINE_FREEP(push_http)

/* Lives as long as `http`. */
struct push_transport push_http_transport(struct push_http *http);
