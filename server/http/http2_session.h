/*
 * The HTTP/2 of one connection: bytes in, requests out; responses in, bytes out. The one
 * place that knows libnghttp2; no sockets, no routes.
 *
 * Shape    a request is known by what its `begin` returned, until `closed`:
 *
 *            begin -> field ... -> head -> data ... -> end
 *               `---------`----------`-------`----------`---> closed
 *
 *          It may be answered from `head` on, also before its end: what is still sent then
 *          is thrown away, and the peer is told to stop. A session that has failed, or was
 *          stopped and has answered everything, is over: the connection closes.
 * Units    bytes.
 * Errors   a peer that breaks the protocol or a limit: GOAWAY, and `failed` once. Limits
 *          hold for one connection: streams at a time, bytes and frames of a head, and
 *          frames that bring nothing (server/http/http2_toll.h).
 * Threads  one at a time; handlers run inside the calls below.
 * Source   RFC 9113, RFC 7541; ingest specification, 5.6
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/http_message.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/strbuf.h"

#define HTTP2_HEAD_MAX   ((size_t)64 << 10) /* bytes of a head, 32 a field included */
#define HTTP2_FIELDS_MAX 1000

struct http2_session;

struct http2_handlers {
	/* A request begins. NULL: there is no room; the peer may send it again. */
	void *(*begin)(void *context, int32_t id);
	/* One of its head: a lower case name, or a pseudo-header with its colon. */
	void (*field)(void *request, struct str name, struct str value);
	void (*head)(void *request);
	/* True: it was of use; false: it is thrown away. */
	bool (*data)(void *request, struct str bytes);
	void (*end)(void *request);
	/* Its stream is gone, well or not: nothing of its answer is read any more. */
	void (*closed)(void *request);
	/* The connection ends; a text for the log. */
	void (*failed)(void *context, const char *reason);
};

struct http2_session_options {
	const struct http2_handlers *handlers;
	void *context;
	size_t max_streams; /* at a time */
};

/* What is sent on a stream; the caller's, until `closed`. */
struct http2_answer {
	struct str body;
	const struct http_header *trailers; /* behind it */
	size_t trailer_count;
	size_t sent; /* the session's */
};

struct http2_session *http2_session_new(const struct http2_session_options *options)
	__attribute__((returns_nonnull));

/* `closed` is not called for what is still open. NULL is fine. */
void http2_session_free(struct http2_session *session);
DEFINE_FREEP(http2_session)

/* Takes what a peer has sent, from its preface on. */
void http2_session_receive(struct http2_session *session, struct str bytes);

/* Appends what is to be sent until `out` has at least `enough` bytes, or there is no more. */
void http2_session_send(struct http2_session *session, struct strbuf *out, size_t enough);

/* Whether http2_session_send() would add something. */
bool http2_session_has_output(const struct http2_session *session);

/* Frames that wait to be sent; DATA that waits for the peer's window is none of them. */
size_t http2_session_queue_length(const struct http2_session *session);

/* Nothing more is read and nothing more is to be sent. */
bool http2_session_is_over(const struct http2_session *session);

/* Frames that the peer has sent; the first is its SETTINGS. */
uint64_t http2_session_frames(const struct http2_session *session);

/*
 * Sends headers and the answer. A HEAD request has an answer without a body, and its
 * Content-Length among the headers.
 */
void http2_session_respond(struct http2_session *session, int32_t id, int status,
                           const struct http_header *headers, size_t count,
                           struct http2_answer *answer);

/* 100: the peer waits for it before it sends a body. */
void http2_session_continue(struct http2_session *session, int32_t id);

/* Gives a stream up: it took too long. `closed` follows once that is sent. */
void http2_session_cancel(struct http2_session *session, int32_t id);

/*
 * Tells the peer to begin nothing more. What it began before it heard of that is served;
 * when it has heard, or http2_session_stop() is called, the session ends with what runs.
 */
void http2_session_drain(struct http2_session *session);
void http2_session_stop(struct http2_session *session);
