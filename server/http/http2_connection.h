/*
 * One HTTP/2 connection: a socket, its session, and its streams.
 *
 * Shape    the event thread calls it when its socket is ready, when a request is answered,
 *          and now and then for its deadlines. A step reads and writes at most some tens of
 *          KiB, so that many connections share a thread fairly. While a peer does not take
 *          what is sent, nothing more is read from it than a bounded number of frames.
 *          Closed, it lives on until no worker has a request of its.
 * Units    a share of memory.limit holds its heads, its bodies and its answers.
 * Threads  its lane's event thread; `memory` also workers.
 * Source   RFC 9113; ingest specification, 5.6
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/strbuf.h"
#include "server/http/connections.h"
#include "server/http/event_loop.h"
#include "server/http/http2_session.h"
#include "server/http/intake.h"

struct http2_stream;

/* What connections need of their thread. */
struct http2_lane {
	struct intake *intake;
	struct connections *connections;
	struct event_loop *loop;
	int epoll_fd;
	size_t max_streams;             /* a connection may have */
	bool drains;                    /* connections are to end, those that arrive too */
	char *bytes;                    /* what was just read: HTTP2_READ_BYTES */
	struct http2_connection *first; /* those that are open */
};

#define HTTP2_READ_BYTES ((size_t)64 << 10) /* a turn */

struct http2_connection {
	struct http2_lane *lane;
	struct connection *connection; /* NULL once it is closed */
	struct http2_session *session;
	struct budget memory;

	struct strbuf out; /* what the socket has not taken yet, from out_sent on */
	size_t out_sent;
	uint32_t events; /* that epoll is asked for */

	struct http2_stream *streams;
	size_t stream_count;

	uint64_t frames;             /* of the session, when last looked at */
	int64_t active_mono_ns;      /* when there was something new */
	int64_t blocked_mono_ns;     /* since when the socket takes nothing; 0: it does */
	int64_t half_closed_mono_ns; /* since when the peer sends nothing more; 0: it does */
	bool is_idle;                /* it was said goodbye for that */
	int64_t drains_mono_ns;      /* since when it is asked to end; 0: not */

	struct http2_connection *previous;
	struct http2_connection *next;
};

/* Takes over a connection that is known to speak HTTP/2, its preface unread. */
void http2_connection_open(struct http2_lane *lane, struct connection *connection);

/* The socket is ready for `events`. It may be gone afterwards, as after each of these. */
void http2_connection_step(struct http2_connection *connection, uint32_t events);

/* A worker has answered. */
void http2_connection_answer(struct http2_stream *stream);

/* Keeps deadlines; frees what is closed. */
void http2_connection_tick(struct http2_connection *connection, int64_t now_mono_ns);

/* Asks the peer to end, and ends with what runs. */
void http2_connection_drain(struct http2_connection *connection);

/* Says that it ends, and closes. */
void http2_connection_close(struct http2_connection *connection);
