#include "server/http/http2_connection.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/app.h"
#include "server/http/http2_stream.h"

#define OUT_ENOUGH     ((size_t)32 << 10)  /* gathered before it is sent */
#define OUT_MAX        ((size_t)128 << 10) /* with the last frame; the session's are 16 KiB */
#define WRITE_TURN     ((size_t)256 << 10)
#define QUEUE_MAX      1000 /* frames that wait to be sent before nothing more is read; a guess */
#define HALF_CLOSED_NS NS_PER_S
#define DRAIN_NS       NS_PER_S /* for a peer that does not answer a PING; a guess */

/* ---- streams ---- */

static void link_stream(struct http2_connection *connection, struct http2_stream *stream)
{
	stream->next = connection->streams;
	if (stream->next)
		stream->next->previous = stream;
	connection->streams = stream;
	connection->stream_count++;
}

static void free_stream(struct http2_stream *stream)
{
	struct http2_connection *connection = stream->connection;

	if (stream->previous)
		stream->previous->next = stream->next;
	else
		connection->streams = stream->next;
	if (stream->next)
		stream->next->previous = stream->previous;
	connection->stream_count--;
	connection->active_mono_ns = clock_mono_ns();
	http2_stream_end(stream);
	free(stream);
}

/* Any thread. */
static void finish(struct incoming *incoming)
{
	const struct http2_stream *stream = (const struct http2_stream *)incoming;

	event_loop_finish(stream->connection->lane->loop, &incoming->exchange);
}

/* Streams whose peer has gone while a worker has them count too. */
static void *begin_stream(void *context, int32_t id)
{
	struct http2_connection *connection = context;
	struct http2_stream *stream;

	if (connection->stream_count >= connection->lane->max_streams)
		return NULL;
	stream = mem_zalloc(1, sizeof(*stream));
	http2_stream_begin(stream, connection, id, finish);
	link_stream(connection, stream);
	return stream;
}

static void take_field(void *stream, struct str name, struct str value)
{
	http2_stream_take_field(stream, name, value);
}

static void take_head(void *stream)
{
	http2_stream_take_head(stream);
}

static bool take_body(void *stream, struct str bytes)
{
	return http2_stream_take_body(stream, bytes);
}

static void take_end(void *stream)
{
	http2_stream_take_end(stream);
}

static void forget(void *context)
{
	struct http2_stream *stream = context;

	atomic_store_explicit(&stream->gone, true, memory_order_relaxed);
	stream->is_closed = true;
	if (stream->step != HTTP2_WORKING)
		free_stream(stream);
}

static void note_failure(void *context, const char *reason)
{
	const struct http2_connection *connection = context;

	connections_note_cut(connection->lane->connections, CONNECTION_STREAMS);
	log_rarely(LOG_WARN, "a peer's HTTP/2 connection is ended: %s", reason);
}

/* ---- life ---- */

static bool watch(struct http2_connection *connection, uint32_t events, int operation)
{
	struct epoll_event event = { .events = events, .data.ptr = connection };

	if (operation == EPOLL_CTL_MOD && events == connection->events)
		return true;
	connection->events = events;
	return epoll_ctl(connection->lane->epoll_fd, operation, connection->connection->fd,
	                 &event) == 0;
}

static void link_connection(struct http2_connection *connection)
{
	struct http2_lane *lane = connection->lane;

	connection->next = lane->first;
	if (connection->next)
		connection->next->previous = connection;
	lane->first = connection;
}

static void unlink_connection(struct http2_connection *connection)
{
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		connection->lane->first = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
}

static void free_if_unused(struct http2_connection *connection)
{
	if (!connection->connection && connection->stream_count == 0)
		free(connection);
}

/* Closes the socket. What a worker has goes on; the last of that frees the rest. */
static void end(struct http2_connection *connection)
{
	const int fd = connection->connection->fd;
	struct http2_stream *next;

	(void)epoll_ctl(connection->lane->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	connections_close(connection->lane->connections, connection->connection);
	connection->connection = NULL;
	(void)close(fd);
	http2_session_free(connection->session);
	connection->session = NULL;
	strbuf_fini(&connection->out);
	for (struct http2_stream *stream = connection->streams; stream; stream = next) {
		next = stream->next;
		if (!stream->is_closed)
			forget(stream);
	}
	unlink_connection(connection);
	free_if_unused(connection);
}

/* As end(), for a peer that should still read what it was told last. */
static void end_gently(struct http2_connection *connection)
{
	connection->connection->drains = true;
	end(connection);
}

/* ---- out ---- */

/* What the socket takes, at most a turn's. False: it is broken. */
static bool transmit(struct http2_connection *connection)
{
	struct strbuf *out = &connection->out;
	size_t turn = 0;

	while (turn < WRITE_TURN) {
		ssize_t count;

		if (connection->out_sent == out->length) {
			strbuf_reset(out);
			connection->out_sent = 0;
			http2_session_send(connection->session, out, OUT_ENOUGH);
		}
		if (out->length == 0)
			break;
		count = send(connection->connection->fd, out->data + connection->out_sent,
		             out->length - connection->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (count < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (count < 0) {
			if (connection->blocked_mono_ns == 0)
				connection->blocked_mono_ns = clock_mono_ns();
			return true;
		}
		connection->out_sent += (size_t)count;
		connection->blocked_mono_ns = 0;
		turn += (size_t)count;
	}
	return true;
}

/* Whether what was read and not yet answered is within bounds. */
static bool may_read(const struct http2_connection *connection)
{
	return connection->half_closed_mono_ns == 0 &&
	       http2_session_queue_length(connection->session) < QUEUE_MAX;
}

/* Sends what there is, and closes when there will be no more. */
static void flush(struct http2_connection *connection)
{
	bool has_output;

	if (!transmit(connection)) {
		end(connection);
		return;
	}
	has_output = connection->out_sent < connection->out.length ||
	             http2_session_has_output(connection->session);
	if (!has_output) {
		strbuf_fini(&connection->out); /* most wait for most of the time */
		strbuf_init(&connection->out, OUT_MAX);
		connection->out_sent = 0;
	}
	if (!has_output && http2_session_is_over(connection->session)) {
		end_gently(connection);
		return;
	}
	if (!has_output && connection->half_closed_mono_ns > 0 && connection->stream_count == 0) {
		end(connection);
		return;
	}
	(void)watch(connection, (may_read(connection) ? EPOLLIN : 0) | (has_output ? EPOLLOUT : 0),
	            EPOLL_CTL_MOD);
}

/* ---- in ---- */

/* Nothing more comes: what has not come whole will not. */
static void note_half_close(struct http2_connection *connection)
{
	connection->half_closed_mono_ns = clock_mono_ns();
	for (const struct http2_stream *stream = connection->streams; stream; stream = stream->next)
		if (stream->step == HTTP2_HEAD || stream->step == HTTP2_BODY)
			http2_session_cancel(connection->session, stream->id);
}

/* What has come, at most a turn's. False: the socket is broken. */
static bool receive(struct http2_connection *connection)
{
	char *bytes = connection->lane->bytes;
	const ssize_t count =
		recv(connection->connection->fd, bytes, HTTP2_READ_BYTES, MSG_DONTWAIT);

	if (count < 0)
		return errno == EAGAIN || errno == EINTR;
	if (count == 0)
		note_half_close(connection);
	else
		http2_session_receive(connection->session, str_make(bytes, (size_t)count));
	if (connection->frames != http2_session_frames(connection->session)) {
		connection->frames = http2_session_frames(connection->session);
		connection->active_mono_ns = clock_mono_ns();
	}
	return true;
}

void http2_connection_step(struct http2_connection *connection, uint32_t events)
{
	if ((events & (EPOLLERR | EPOLLHUP)) ||
	    ((events & EPOLLIN) && may_read(connection) && !receive(connection))) {
		end(connection);
		return;
	}
	flush(connection);
}

static void begin_drain(struct http2_connection *connection)
{
	connection->drains_mono_ns = clock_mono_ns();
	http2_session_drain(connection->session);
}

void http2_connection_open(struct http2_lane *lane, struct connection *connection)
{
	static const struct http2_handlers handlers = {
		.begin = begin_stream,
		.field = take_field,
		.head = take_head,
		.data = take_body,
		.end = take_end,
		.closed = forget,
		.failed = note_failure,
	};
	struct http2_connection *made = mem_zalloc(1, sizeof(*made));

	made->lane = lane;
	made->connection = connection;
	made->active_mono_ns = clock_mono_ns();
	made->session = http2_session_new(&(struct http2_session_options){
		.handlers = &handlers, .context = made, .max_streams = lane->max_streams });
	budget_init_share(&made->memory, &intake_app(lane->intake)->memory);
	strbuf_init(&made->out, OUT_MAX);
	link_connection(made);
	if (lane->drains)
		begin_drain(made);
	if (watch(made, EPOLLIN, EPOLL_CTL_ADD))
		http2_connection_step(made, 0); /* SETTINGS first */
	else
		end(made);
}

void http2_connection_answer(struct http2_stream *stream)
{
	struct http2_connection *connection = stream->connection;

	if (!stream->is_closed) {
		http2_stream_respond(stream);
		flush(connection);
		return;
	}
	free_stream(stream);
	if (connection->connection)
		flush(connection); /* it may have waited for that */
	else
		free_if_unused(connection);
}

/* ---- deadlines ---- */

static bool is_past(int64_t start_mono_ns, int64_t timeout_ns, int64_t now_mono_ns)
{
	return start_mono_ns > 0 && timeout_ns > 0 && now_mono_ns - start_mono_ns >= timeout_ns;
}

/* Gives up a stream that took too long. False: the whole connection is of no use. */
static bool cut_stream(struct http2_connection *connection, struct http2_stream *stream,
                       int64_t now_mono_ns)
{
	connections_note_cut(connection->lane->connections, http2_stream_phase(stream));
	log_rarely(LOG_WARN, "an HTTP/2 stream is given up: its peer took too long to %s",
	           stream->step == HTTP2_ANSWERED ? "read the answer" : "send the request");
	if (stream->step == HTTP2_HEAD)
		return false; /* nothing else can come between the frames of a head */
	if (stream->is_cut)
		return false; /* a peer that reads so little has not even been told of it */
	stream->is_cut = true;
	http2_stream_start_clock(stream, now_mono_ns);
	http2_session_cancel(connection->session, stream->id);
	return true;
}

static bool check_streams(struct http2_connection *connection, int64_t now_mono_ns)
{
	const bool is_gone = is_past(connection->half_closed_mono_ns, HALF_CLOSED_NS, now_mono_ns);

	for (struct http2_stream *stream = connection->streams; stream; stream = stream->next) {
		if (is_gone)
			atomic_store_explicit(&stream->gone, true, memory_order_relaxed);
		if (!stream->is_closed && stream->deadline_mono_ns > 0 &&
		    stream->deadline_mono_ns <= now_mono_ns &&
		    !cut_stream(connection, stream, now_mono_ns))
			return false;
	}
	return true;
}

/* Whether the peer takes nothing, or has not even said what it wants. */
static bool is_stuck(const struct http2_connection *connection, int64_t now_mono_ns)
{
	const struct connections *table = connection->lane->connections;
	enum connection_phase phase = CONNECTION_SENDING;
	bool is_stuck;

	is_stuck = is_past(connection->blocked_mono_ns, connections_timeout_ns(table, phase),
	                   now_mono_ns);
	if (!is_stuck && connection->frames == 0) {
		phase = CONNECTION_HEAD;
		is_stuck = is_past(connection->active_mono_ns, connections_timeout_ns(table, phase),
		                   now_mono_ns);
	}
	if (is_stuck)
		connections_note_cut(table, phase);
	return is_stuck;
}

/* Says goodbye to one that has nothing to do. False: it does not even read that. */
static bool check_idle(struct http2_connection *connection, int64_t now_mono_ns)
{
	const struct connections *table = connection->lane->connections;

	if (connection->stream_count > 0 ||
	    !is_past(connection->active_mono_ns, connections_timeout_ns(table, CONNECTION_IDLE),
	             now_mono_ns))
		return true;
	connection->active_mono_ns = now_mono_ns;
	connections_note_cut(table, CONNECTION_IDLE);
	if (connection->is_idle)
		return false;
	connection->is_idle = true;
	http2_session_stop(connection->session);
	return true;
}

void http2_connection_tick(struct http2_connection *connection, int64_t now_mono_ns)
{
	if (is_stuck(connection, now_mono_ns) || !check_streams(connection, now_mono_ns) ||
	    !check_idle(connection, now_mono_ns)) {
		end(connection);
		return;
	}
	if (is_past(connection->drains_mono_ns, DRAIN_NS, now_mono_ns)) {
		connection->drains_mono_ns = 0;
		http2_session_stop(connection->session);
	}
	flush(connection);
}

void http2_connection_drain(struct http2_connection *connection)
{
	begin_drain(connection);
	flush(connection);
}

void http2_connection_close(struct http2_connection *connection)
{
	http2_session_stop(connection->session);
	if (!transmit(connection))
		end(connection);
	else
		end_gently(connection);
}
