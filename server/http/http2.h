/*
 * HTTP/2 on libnghttp2: bytes in, exchanges out, responses back.
 *
 * Shape    as HTTP/1 has it: event threads of its own take connections that somebody else
 *          has accepted and found to speak it, by their preface (prior knowledge). Each
 *          has many requests at a time; each request goes the way of all others.
 * Errors   a refused connection is closed.
 * Threads  http2_add() from one thread, http2_drain() from any. Event threads never wait
 *          for anything but sockets.
 * Source   architecture, section 5; ingest specification, 1.2 and 5.6
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "server/http/connections.h"
#include "server/http/intake.h"

struct http2;

struct http2_options {
	struct intake *intake;
	struct connections *connections;
	size_t event_threads; /* at least 1 */
	size_t max_streams;   /* of one connection, at a time; at least 1 */
};

int http2_open(const struct http2_options *options, struct http2 **out, struct error *err);

/*
 * Asks all peers, and those to come, to begin nothing more; a connection closes when what
 * it has begun is answered.
 */
void http2_drain(struct http2 *http2);

/* No request may be with a worker any more. NULL is fine. */
void http2_close(struct http2 *http2);

/* Takes over a connection that speaks HTTP/2, its preface unread. */
void http2_add(struct http2 *http2, struct connection *connection);
