/*
 * HTTP/1 on libmicrohttpd: bytes in, exchanges out, responses back.
 *
 * Shape    its event threads take connections that somebody else has accepted. They
 *          read the head, refuse what must not be believed, gather the body, and hand
 *          the request to the worker pool; the connection sleeps until the response is
 *          there.
 *
 *            HEAD -> BODY -> WORKING -> ANSWERED        a request's steps
 *               `-----`-------------> ANSWERED        refused: answered at once, or
 *                                                     when what is left of a small body
 *                                                     has come
 *
 * Errors   a refused connection is closed.
 * Threads  http1_add() from one thread. Event threads never wait for anything but
 *          sockets.
 * Source   architecture, section 5; RFC 9112
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "server/app.h"
#include "server/http/connections.h"
#include "server/http/worker_pool.h"

struct http1;

struct http1_options {
	struct app *app;
	struct worker_pool *pool;
	struct connections *connections;
	size_t event_threads; /* at least 1 */
	size_t max_connections;
};

int http1_open(const struct http1_options *options, struct http1 **out, struct error *err);

/* From now on requests that need a worker are answered 503. */
void http1_refuse(struct http1 *http1);

/* No request may be with a worker any more. */
void http1_close(struct http1 *http1);

/* Takes over a connection whose first bytes are no other protocol's. */
void http1_add(struct http1 *http1, struct connection *connection);

/* Requests whose response is not finished. */
size_t http1_in_flight(struct http1 *http1);
