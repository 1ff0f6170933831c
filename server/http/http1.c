#include "server/http/http1.h"

#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/http/event_loop.h"
#include "server/http/http1_response.h"
#include "server/routes/dispatch.h"

#define CONNECTION_BYTES ((size_t)64 << 10) /* of libmicrohttpd, each: head and read buffer */
#define HEADERS_MAX      1000
#define DISCARD_MAX      ((size_t)256 << 10) /* of a refused request's body; as Go's server */

enum call_step {
	CALL_HEAD,
	CALL_BODY,
	CALL_WORKING,
	CALL_ANSWERED,
};

/* An event thread with its part of the connections. */
struct lane {
	struct http1 *http1;
	struct MHD_Daemon *daemon;
	struct event_loop *loop;
};

/* One request. */
struct call {
	struct incoming incoming; /* first: see there */
	struct http1 *http1;
	struct lane *lane;
	struct MHD_Connection *mhd;
	struct connection *connection;
	char *target; /* as sent */
	size_t discarded;
	enum call_step step;
	bool is_refused; /* the response is complete; the body is thrown away */
	bool closes;     /* the connection ends with this response */
};

struct http1 {
	struct http1_options options;
	struct lane *lanes;
	size_t lane_count;
	size_t next_lane; /* the acceptor's */
};

/* ---- a request's life ---- */

static struct connection *connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void finish(struct incoming *incoming)
{
	const struct call *call = (const struct call *)incoming;

	event_loop_finish(call->lane->loop, &incoming->exchange);
}

static void on_finished(void *context, struct exchange *exchange)
{
	struct call *call = (struct call *)exchange;

	(void)context;
	call->step = CALL_ANSWERED;
	MHD_resume_connection(call->mhd);
}

/*
 * libmicrohttpd would make a record of each argument of the query. Where the connection's
 * memory does not hold them it answers, then waits for a head that it has thrown away,
 * and the request never ends. The query is parsed by its handler, from the copy: the
 * library's own text, which the callback only lends, ends behind the mark.
 */
static void hide_arguments(const char *target)
{
	const union {
		const char *lent;
		char *text;
	} line = { .lent = target };
	char *mark = line.text ? strchr(line.text, '?') : NULL;

	if (mark)
		mark[1] = '\0';
}

/* The request line was read: the first that is known of a request. */
static void *begin(void *context, const char *target, struct MHD_Connection *mhd)
{
	struct lane *lane = context;
	struct http1 *http1 = lane->http1;
	struct call *call = mem_zalloc(1, sizeof(*call));

	call->http1 = http1;
	call->lane = lane;
	call->mhd = mhd;
	call->connection = connection_of(mhd);
	call->target = mem_strdup(target); /* at most CONNECTION_BYTES; libmicrohttpd cuts it up */
	hide_arguments(target);
	incoming_begin(
		&call->incoming, http1->options.intake,
		&(struct incoming_options){ .budget = &intake_app(http1->options.intake)->memory,
	                                    .gone = &call->connection->gone,
	                                    .descriptor = call->connection->fd,
	                                    .peer = connection_peer(call->connection),
	                                    .finish = finish });
	connection_enter(http1->options.connections, call->connection, CONNECTION_HEAD);
	return call;
}

static void end(void *context, struct MHD_Connection *mhd, void **request,
                enum MHD_RequestTerminationCode code)
{
	struct http1 *http1 = ((struct lane *)context)->http1;
	struct call *call = *request;

	(void)mhd;
	(void)code;
	if (!call)
		return;
	*request = NULL;
	connection_enter(http1->options.connections, call->connection, CONNECTION_IDLE);
	free(call->target);
	incoming_end(&call->incoming); /* last: who waits for all to end may go on */
	free(call);
}

/* Sends the response through libmicrohttpd. */
static enum MHD_Result answer(struct call *call)
{
	struct exchange *exchange = &call->incoming.exchange;
	const bool closes = call->closes ||
	                    atomic_load_explicit(&exchange->app->stopping, memory_order_relaxed);

	call->incoming.response_bytes = exchange->response.body.length;
	call->connection->drains = call->closes;
	connection_enter(call->http1->options.connections, call->connection, CONNECTION_SENDING);
	return http1_response_queue(call->mhd, exchange, closes) ? MHD_YES : MHD_NO;
}

/*
 * Sends the response past libmicrohttpd, which takes none before the body's end, and
 * closes.
 */
static enum MHD_Result answer_now(struct call *call)
{
	struct exchange *exchange = &call->incoming.exchange;

	call->incoming.response_bytes = exchange->response.body.length;
	call->connection->drains = true;
	http1_response_write(call->connection->fd, exchange);
	return MHD_NO;
}

/* ---- the head ---- */

struct header_list {
	struct http_header *headers;
	size_t count;
	size_t capacity;
};

static enum MHD_Result add_header(void *context, enum MHD_ValueKind kind, const char *name,
                                  size_t name_length, const char *value, size_t value_length)
{
	struct header_list *list = context;

	(void)kind;
	if (list->count == list->capacity)
		return MHD_NO;
	list->headers[list->count++] =
		(struct http_header){ { name, name_length }, { value, value_length } };
	return MHD_YES;
}

/*
 * The headers as views into the connection's memory, which lasts as long as the
 * request.
 */
static bool read_headers(struct call *call)
{
	const int count = MHD_get_connection_values_n(call->mhd, MHD_HEADER_KIND, NULL, NULL);
	struct header_list list = { .capacity = count > 0 ? (size_t)count : 0 };
	struct exchange *exchange = &call->incoming.exchange;

	if (list.capacity > HEADERS_MAX) {
		dispatch_malformed(exchange, 431, "too many headers");
		return false;
	}
	list.headers = arena_array(exchange->arena, list.capacity + 1, sizeof(*list.headers));
	if (!list.headers) {
		dispatch_busy(exchange, "memory");
		return false;
	}
	(void)MHD_get_connection_values_n(call->mhd, MHD_HEADER_KIND, add_header, &list);
	exchange->request.headers = list.headers;
	exchange->request.header_count = list.count;
	return true;
}

static bool check_head(struct call *call, const char *version_text)
{
	enum head_version version;

	if (!read_headers(call))
		return false;
	if (head_version_parse(str_of(version_text), &version))
		return incoming_check_head(&call->incoming, version);
	dispatch_malformed(&call->incoming.exchange, 505, "HTTP version not supported");
	return false;
}

/* Whether a refused request's body is worth reading, to keep the connection. */
static bool keeps_after_refusal(const struct head *head)
{
	return !head->expects_continue && !head->is_chunked && head->content_length <= DISCARD_MAX;
}

static enum MHD_Result take_head(struct call *call, const char *method, const char *version)
{
	struct incoming *incoming = &call->incoming;

	call->step = CALL_BODY;
	incoming->exchange.request.method = str_of(method);
	connection_enter(call->http1->options.connections, call->connection, CONNECTION_BODY);
	if (!check_head(call, version)) {
		incoming_count(incoming);
		call->closes = true;
		return answer(call);
	}
	call->is_refused = !incoming_route(incoming, str_of(call->target));
	incoming_count(incoming);
	if (call->is_refused && !keeps_after_refusal(&incoming->head)) {
		call->closes = true;
		return answer(call);
	}
	return MHD_YES;
}

/* ---- the body ---- */

static enum MHD_Result take_body(struct call *call, const char *data, size_t *length)
{
	const size_t taken = *length;

	*length = 0;
	if (call->is_refused) {
		call->discarded += taken;
		return call->discarded > DISCARD_MAX ? answer_now(call) : MHD_YES;
	}
	return incoming_add(&call->incoming, data, taken) ? MHD_YES : answer_now(call);
}

static enum MHD_Result take_end(struct call *call)
{
	if (call->is_refused || !incoming_submit(&call->incoming))
		return answer(call);
	/* what a worker finishes meanwhile is taken over by this thread, later */
	connection_enter(call->http1->options.connections, call->connection, CONNECTION_RUNNING);
	call->step = CALL_WORKING;
	MHD_suspend_connection(call->mhd);
	return MHD_YES;
}

/*
 * libmicrohttpd calls it with the head, with each piece of the body, at its end, and when
 * resumed. Its parameters are the library's.
 */
/* NOLINTNEXTLINE(readability-function-size) */
static enum MHD_Result step(void *context, struct MHD_Connection *mhd, const char *target,
                            const char *method, const char *version, const char *data,
                            size_t *length, void **request)
{
	struct call *call = *request;

	(void)context;
	(void)mhd;
	(void)target;
	switch (call->step) {
	case CALL_HEAD:
		return take_head(call, method, version);
	case CALL_BODY:
		return *length > 0 ? take_body(call, data, length) : take_end(call);
	case CALL_WORKING:
		return MHD_YES;
	case CALL_ANSWERED:
	default:
		return answer(call);
	}
}

/* ---- connections ---- */

static void on_connection(void *context, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
	struct http1 *http1 = ((struct lane *)context)->http1;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

		*socket_context = connections_find(http1->options.connections, info->connect_fd);
		return;
	}
	connections_close(http1->options.connections, *socket_context);
	*socket_context = NULL;
}

/* In the event thread: the library takes the socket, and closes it when it cannot. */
static void on_arrived(void *context, struct connection *connection)
{
	const struct lane *lane = context;
	const uint64_t tag = connection_tag(connection);
	struct sockaddr_storage address = { 0 };
	socklen_t length = sizeof(address);

	if (getpeername(connection->fd, (struct sockaddr *)&address, &length) < 0) {
		const int fd = connection->fd;

		connections_close(lane->http1->options.connections, connection);
		(void)close(fd);
		return;
	}
	if (MHD_add_connection(lane->daemon, connection->fd, (const struct sockaddr *)&address,
	                       length) != MHD_YES) {
		log_rarely(LOG_WARN, "libmicrohttpd takes no more connections; one was closed");
		connections_forget(lane->http1->options.connections, tag);
	}
}

void http1_add(struct http1 *http1, struct connection *connection)
{
	struct lane *lane = &http1->lanes[http1->next_lane];

	http1->next_lane = (http1->next_lane + 1) % http1->lane_count;
	connection_enter(http1->options.connections, connection, CONNECTION_HEAD);
	event_loop_add(lane->loop, connection);
}

/* ---- opening ---- */

__attribute__((format(printf, 2, 0))) static void log_library(void *context, const char *format,
                                                              va_list args)
{
	char line[256];

	(void)context;
	(void)vsnprintf(line, sizeof(line), format, args);
	log_debug("libmicrohttpd: %s", line);
}

static struct MHD_Daemon *start_daemon(struct lane *lane)
{
	const size_t connections =
		lane->http1->options.max_connections + 64; /* ours is the limit */

	return MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
	                                MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
	                        0, NULL, NULL, step, lane, MHD_OPTION_EXTERNAL_LOGGER, log_library,
	                        NULL, MHD_OPTION_CONNECTION_LIMIT, (unsigned)connections,
	                        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
	                        MHD_OPTION_URI_LOG_CALLBACK, begin, lane,
	                        MHD_OPTION_NOTIFY_COMPLETED, end, lane,
	                        MHD_OPTION_NOTIFY_CONNECTION, on_connection, lane, MHD_OPTION_END);
}

/* Milliseconds until the library wants to run, -1: when something happens. */
static int wait_ms(void *context)
{
	const struct lane *lane = context;
	MHD_UNSIGNED_LONG_LONG timeout_ms;

	if (MHD_get_timeout(lane->daemon, &timeout_ms) != MHD_YES)
		return -1;
	return timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms;
}

static void run(void *context)
{
	(void)MHD_run(((const struct lane *)context)->daemon);
}

static int open_lane(struct http1 *http1, struct lane *lane, struct error *err)
{
	const union MHD_DaemonInfo *info;

	lane->http1 = http1;
	lane->daemon = start_daemon(lane);
	if (!lane->daemon)
		return error_set_errno(err, errno, "starting libmicrohttpd");
	info = MHD_get_daemon_info(lane->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	return event_loop_open(&(struct event_loop_options){ .fd = info->epoll_fd,
	                                                     .wait_ms = wait_ms,
	                                                     .run = run,
	                                                     .arrived = on_arrived,
	                                                     .finished = on_finished,
	                                                     .context = lane },
	                       &lane->loop, err);
}

int http1_open(const struct http1_options *options, struct http1 **out, struct error *err)
{
	struct http1 *http1 = mem_zalloc(1, sizeof(*http1));

	http1->options = *options;
	http1->lanes = mem_zalloc(options->event_threads, sizeof(*http1->lanes));
	for (; http1->lane_count < options->event_threads; http1->lane_count++)
		if (open_lane(http1, &http1->lanes[http1->lane_count], err) < 0) {
			http1->lane_count++;
			http1_close(http1);
			return -1;
		}
	*out = http1;
	return 0;
}

void http1_close(struct http1 *http1)
{
	if (!http1)
		return;
	for (size_t i = 0; i < http1->lane_count; i++) {
		event_loop_close(http1->lanes[i].loop);
		if (http1->lanes[i].daemon)
			MHD_stop_daemon(http1->lanes[i].daemon);
	}
	free(http1->lanes);
	free(http1);
}
