#include "server/http/http2_stream.h"

#include <stdio.h>

#include "base/clock.h"
#include "server/guard/response_guards.h"
#include "server/http/http2_connection.h"
#include "server/http/http_date.h"
#include "server/routes/dispatch.h"
#include "server/routes/route.h"

#define FIELD_COST   32 /* bytes that a field counts besides its own; RFC 9113, 6.5.2 */
#define SMALL_HEAD   ((size_t)32 << 10) /* bytes of an arena; most take less */
#define SHORT_ANSWER ((size_t)4 << 10)  /* what tells of a shortage is hardly shorter */

enum connection_phase http2_stream_phase(const struct http2_stream *stream)
{
	static const enum connection_phase phases[HTTP2_STEP_COUNT] = {
		[HTTP2_HEAD] = CONNECTION_HEAD,
		[HTTP2_BODY] = CONNECTION_BODY,
		[HTTP2_WORKING] = CONNECTION_RUNNING,
		[HTTP2_ANSWERED] = CONNECTION_SENDING,
	};

	return phases[stream->step];
}

/* Enters a step, and starts its clock. */
static void enter(struct http2_stream *stream, enum http2_step step)
{
	stream->step = step;
	http2_stream_start_clock(stream, clock_mono_ns());
}

void http2_stream_start_clock(struct http2_stream *stream, int64_t now_mono_ns)
{
	const int64_t timeout_ns = connections_timeout_ns(stream->connection->lane->connections,
	                                                  http2_stream_phase(stream));

	stream->deadline_mono_ns = timeout_ns > 0 ? now_mono_ns + timeout_ns : 0;
}

void http2_stream_begin(struct http2_stream *stream, struct http2_connection *connection,
                        int32_t id, void (*finish)(struct incoming *))
{
	stream->connection = connection;
	stream->id = id;
	incoming_begin(&stream->incoming, connection->lane->intake,
	               &(struct incoming_options){ .budget = &connection->memory,
	                                           .gone = &stream->gone,
	                                           .descriptor = connection->connection->fd,
	                                           .peer = connection_peer(connection->connection),
	                                           .finish = finish });
	enter(stream, HTTP2_HEAD);
}

void http2_stream_end(struct http2_stream *stream)
{
	if (stream->answer_bytes > 0)
		budget_give(&stream->connection->memory, stream->answer_bytes);
	budget_uncount(&stream->connection->memory, stream->arena_counted);
	incoming_end(&stream->incoming);
}

/* ---- the head ---- */

/* What a large head takes of the arena is its connection's: it may have a hundred of them. */
static void count_arena(struct http2_stream *stream)
{
	const size_t taken = arena_taken(stream->incoming.exchange.arena);

	if (taken <= SMALL_HEAD || taken == stream->arena_counted)
		return;
	if (budget_count(&stream->connection->memory, taken - stream->arena_counted))
		stream->arena_counted = taken;
	else
		stream->is_head_lost = stream->is_starved = true;
}

static void add_header(struct http2_stream *stream, struct str name, struct str value)
{
	struct arena *arena = stream->incoming.exchange.arena;

	if (!ARENA_GROW(arena, stream->headers, stream->header_count, stream->header_capacity)) {
		stream->is_head_lost = true;
		return;
	}
	stream->headers[stream->header_count++] = (struct http_header){ name, value };
}

static struct str keep(struct http2_stream *stream, struct str text)
{
	const struct str kept = arena_copy(stream->incoming.exchange.arena, text);

	if (!kept.data)
		stream->is_head_lost = true;
	return kept;
}

/* The library has seen to it that each stands there once, and before all other fields. */
static void take_pseudo_header(struct http2_stream *stream, struct str name, struct str value)
{
	if (str_equals(name, ":method")) {
		stream->incoming.exchange.request.method = keep(stream, value);
	} else if (str_equals(name, ":path")) {
		stream->target = keep(stream, value);
	} else if (str_equals(name, ":authority")) {
		stream->has_authority = true;
		add_header(stream, STR("Host"), keep(stream, value));
	}
}

void http2_stream_take_field(struct http2_stream *stream, struct str name, struct str value)
{
	stream->head_bytes += name.length + value.length + FIELD_COST;
	if (stream->head_bytes > HTTP2_HEAD_MAX || stream->header_count >= HTTP2_FIELDS_MAX)
		stream->is_head_lost = true;
	if (stream->is_head_lost)
		return;
	if (str_starts_with(name, STR(":")))
		take_pseudo_header(stream, name, value);
	else if (!stream->has_authority || !str_equals(name, "host"))
		add_header(stream, keep(stream, name), keep(stream, value));
	count_arena(stream);
}

static bool refuse_lost_head(struct http2_stream *stream)
{
	struct exchange *exchange = &stream->incoming.exchange;

	if (!stream->is_head_lost)
		return false;
	if (stream->is_starved || arena_overflowed(exchange->arena))
		incoming_refuse_busy(&stream->incoming, "memory");
	else
		dispatch_malformed(exchange, 431, "request header fields too large");
	return true;
}

/* False: refused, and answered. */
static bool accept_head(struct http2_stream *stream)
{
	struct incoming *incoming = &stream->incoming;
	struct http_request *request = &incoming->exchange.request;

	request->headers = stream->headers;
	request->header_count = stream->header_count;
	return !refuse_lost_head(stream) && incoming_check_head(incoming, HEAD_HTTP_2) &&
	       incoming_route(incoming, stream->target);
}

void http2_stream_take_head(struct http2_stream *stream)
{
	const bool is_accepted = accept_head(stream);

	incoming_count(&stream->incoming);
	if (!is_accepted) {
		http2_stream_respond(stream);
		return;
	}
	enter(stream, HTTP2_BODY);
	if (stream->incoming.head.expects_continue)
		http2_session_continue(stream->connection->session, stream->id);
}

/* ---- the body ---- */

bool http2_stream_take_body(struct http2_stream *stream, struct str bytes)
{
	if (stream->step != HTTP2_BODY)
		return false;
	if (!incoming_add(&stream->incoming, bytes.data, bytes.length))
		http2_stream_respond(stream);
	return true;
}

void http2_stream_take_end(struct http2_stream *stream)
{
	if (stream->step != HTTP2_BODY)
		return;
	/* what a worker finishes meanwhile is taken over by this thread, later */
	if (incoming_submit(&stream->incoming))
		enter(stream, HTTP2_WORKING);
	else
		http2_stream_respond(stream);
}

/* ---- the answer ---- */

/* What a write has done stays done, whatever its sender is told: it is told the truth. */
static bool must_be_sent(const struct exchange *exchange)
{
	return exchange->response.body.length <= SHORT_ANSWER ||
	       (exchange->route && exchange->route->flags & ROUTE_WRITE);
}

/* Room for the answer while its peer takes its time; else there is a short one. */
static void reserve_answer(struct http2_stream *stream)
{
	struct incoming *incoming = &stream->incoming;
	const size_t bytes = incoming->exchange.response.body.length;

	incoming_drop_body(incoming);
	if (budget_take(&stream->connection->memory, bytes))
		stream->answer_bytes = bytes;
	else if (!must_be_sent(&incoming->exchange))
		incoming_refuse_busy(incoming, "memory");
}

static bool may_have_length(const struct http_response *response)
{
	return response->trailer_count == 0 && response->status != 204 && response->status != 304;
}

void http2_stream_respond(struct http2_stream *stream)
{
	struct exchange *exchange = &stream->incoming.exchange;
	struct http_response *response = &exchange->response;
	struct http_header headers[HTTP_RESPONSE_HEADERS_MAX + 2];
	size_t count = 0;
	char date[HTTP_DATE_LENGTH + 1];
	char length[24];

	enter(stream, HTTP2_ANSWERED);
	reserve_answer(stream);
	response_guards_add(response);
	for (; count < response->header_count; count++)
		headers[count] = response->headers[count];
	http_date_format(clock_unix_ns(), date);
	headers[count++] = (struct http_header){ STR("date"), str_of(date) };
	(void)snprintf(length, sizeof(length), "%zu", response->body.length);
	if (may_have_length(response))
		headers[count++] = (struct http_header){ STR("content-length"), str_of(length) };
	if (!str_equals(exchange->request.method, "HEAD"))
		stream->answer.body = strbuf_view(&response->body);
	stream->answer.trailers = response->trailers;
	stream->answer.trailer_count = response->trailer_count;
	stream->incoming.response_bytes = stream->answer.body.length;
	http2_session_respond(stream->connection->session, stream->id, response->status, headers,
	                      count, &stream->answer);
}
