/*
 * HTTP/1 on libmicrohttpd: bytes in, exchanges out, responses back.
 *
 * Shape    its event threads take connections that somebody else has accepted. They
 *          read the head, refuse what must not be believed, gather the body, and hand
 *          the request to the worker pool; the connection sleeps until the response is
 *          there. What is the same for every version of HTTP is the intake's.
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
#include "server/http/connections.h"
#include "server/http/intake.h"

struct http1;

struct http1_options {
	struct intake *intake;
	struct connections *connections;
	size_t event_threads; /* at least 1 */
	size_t max_connections;
};

int http1_open(const struct http1_options *options, struct http1 **out, struct error *err);

/* No request may be with a worker any more. */
void http1_close(struct http1 *http1);

/* Takes over a connection whose first bytes are no other protocol's. */
void http1_add(struct http1 *http1, struct connection *connection);
