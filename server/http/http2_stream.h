/*
 * One request of an HTTP/2 connection: from its stream to an exchange, and back.
 *
 * Shape    HEAD -> BODY -> WORKING -> ANSWERED; refused at any step: ANSWERED. It is freed
 *          when its stream is closed and no worker has it: what runs when its peer has
 *          gone runs on, writes to their end.
 * Threads  its connection's event thread, but for the time between submit and `finish`.
 * Source   RFC 9113, 8
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/http/connections.h"
#include "server/http/http2_session.h"
#include "server/http/intake.h"

struct http2_connection; /* server/http/http2_connection.h */

enum http2_step {
	HTTP2_HEAD,
	HTTP2_BODY,
	HTTP2_WORKING,
	HTTP2_ANSWERED,
	HTTP2_STEP_COUNT
};

struct http2_stream {
	struct incoming incoming; /* first: the pool hands exchanges on */
	struct http2_connection *connection;
	int32_t id;
	enum http2_step step;
	int64_t deadline_mono_ns; /* 0: none */
	_Atomic bool gone;        /* nobody waits for the answer */
	bool is_closed;           /* the session has forgotten it */
	bool is_cut;              /* it took too long, and is given up as soon as it can be told */

	struct str target;
	struct http_header *headers; /* in the arena, as its growing leaves them */
	size_t header_count;
	size_t header_capacity;
	size_t head_bytes;
	bool has_authority;
	bool is_head_lost;    /* over a limit, or there was no memory for it */
	bool is_starved;      /* its connection has taken its share */
	size_t arena_counted; /* bytes of the arena, in the connection's budget */

	struct http2_answer answer;
	size_t answer_bytes; /* that the connection's budget was asked for */

	struct http2_stream *previous; /* its connection's list */
	struct http2_stream *next;
};

/* Begins a request; `finish` will be called by any thread once a worker has answered. */
void http2_stream_begin(struct http2_stream *stream, struct http2_connection *connection,
                        int32_t id, void (*finish)(struct incoming *));

/* Gives back what it had. */
void http2_stream_end(struct http2_stream *stream);

/*
 * What the session has read. They answer as soon as there is a reason to; of an answered
 * request no bytes are taken.
 */
void http2_stream_take_field(struct http2_stream *stream, struct str name, struct str value);
void http2_stream_take_head(struct http2_stream *stream);
bool http2_stream_take_body(struct http2_stream *stream, struct str bytes);
void http2_stream_take_end(struct http2_stream *stream);

/* What its connection would be in if it were the only one. */
enum connection_phase http2_stream_phase(const struct http2_stream *stream);

/* Its step may take as long as steps of its kind from now on. */
void http2_stream_start_clock(struct http2_stream *stream, int64_t now_mono_ns);

/* Sends the response that is complete. */
void http2_stream_respond(struct http2_stream *stream);
