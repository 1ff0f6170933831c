#include "server/http/http2.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/http/event_loop.h"
#include "server/http/http2_connection.h"
#include "server/http/http2_stream.h"

#define EVENTS_MAX 64

/* An event thread with its part of the connections. */
struct lane {
	struct http2_lane shared; /* with its connections */
	struct http2 *http2;
	int64_t tick_mono_ns; /* when deadlines were last looked at */
};

struct http2 {
	struct http2_options options;
	_Atomic bool drains;
	struct lane *lanes;
	size_t lane_count;
	size_t next_lane; /* the acceptor's */
};

/* ---- in the event thread ---- */

static void on_arrived(void *context, struct connection *connection)
{
	struct lane *lane = context;

	http2_connection_open(&lane->shared, connection);
}

static void on_finished(void *context, struct exchange *exchange)
{
	(void)context;
	http2_connection_answer((struct http2_stream *)exchange);
}

static void for_all(struct lane *lane, void (*call)(struct http2_connection *))
{
	struct http2_connection *next;

	for (struct http2_connection *one = lane->shared.first; one; one = next) {
		next = one->next;
		call(one);
	}
}

static void tick(struct lane *lane)
{
	const int64_t now_mono_ns = clock_mono_ns();
	const int64_t period_ns = connections_expire_ms(lane->shared.connections) * NS_PER_MS;
	struct http2_connection *next;

	if (now_mono_ns - lane->tick_mono_ns < period_ns)
		return;
	lane->tick_mono_ns = now_mono_ns;
	for (struct http2_connection *one = lane->shared.first; one; one = next) {
		next = one->next;
		http2_connection_tick(one, now_mono_ns);
	}
}

static void run(void *context)
{
	struct lane *lane = context;
	struct epoll_event events[EVENTS_MAX];
	const int count = epoll_wait(lane->shared.epoll_fd, events, EVENTS_MAX, 0);

	/* a connection's step may end itself, and no other */
	for (int i = 0; i < count; i++)
		http2_connection_step(events[i].data.ptr, events[i].events);
	tick(lane);
	if (!lane->shared.drains && atomic_load(&lane->http2->drains)) {
		lane->shared.drains = true;
		for_all(lane, http2_connection_drain);
	}
}

static int wait_ms(void *context)
{
	const struct lane *lane = context;

	return lane->shared.first ? connections_expire_ms(lane->shared.connections) : -1;
}

/* ---- from other threads ---- */

void http2_add(struct http2 *http2, struct connection *connection)
{
	struct lane *lane = &http2->lanes[http2->next_lane];

	http2->next_lane = (http2->next_lane + 1) % http2->lane_count;
	connection_enter(http2->options.connections, connection, CONNECTION_STREAMS);
	event_loop_add(lane->shared.loop, connection);
}

void http2_drain(struct http2 *http2)
{
	atomic_store(&http2->drains, true);
	for (size_t i = 0; i < http2->lane_count; i++)
		event_loop_wake(http2->lanes[i].shared.loop);
}

/* ---- opening ---- */

static int open_lane(struct http2 *http2, struct lane *lane, struct error *err)
{
	lane->http2 = http2;
	lane->shared = (struct http2_lane){
		.intake = http2->options.intake,
		.connections = http2->options.connections,
		.max_streams = http2->options.max_streams,
		.bytes = mem_zalloc(HTTP2_READ_BYTES, 1),
		.epoll_fd = epoll_create1(EPOLL_CLOEXEC),
	};
	if (lane->shared.epoll_fd < 0)
		return error_set_errno(err, errno, "making an epoll instance");
	return event_loop_open(&(struct event_loop_options){ .fd = lane->shared.epoll_fd,
	                                                     .wait_ms = wait_ms,
	                                                     .run = run,
	                                                     .arrived = on_arrived,
	                                                     .finished = on_finished,
	                                                     .context = lane },
	                       &lane->shared.loop, err);
}

static void close_lane(struct lane *lane)
{
	event_loop_close(lane->shared.loop);
	for_all(lane, http2_connection_close);
	if (lane->shared.epoll_fd >= 0)
		(void)close(lane->shared.epoll_fd);
	free(lane->shared.bytes);
}

int http2_open(const struct http2_options *options, struct http2 **out, struct error *err)
{
	struct http2 *http2 = mem_zalloc(1, sizeof(*http2));

	http2->options = *options;
	http2->lanes = mem_zalloc(options->event_threads, sizeof(*http2->lanes));
	for (; http2->lane_count < options->event_threads; http2->lane_count++)
		if (open_lane(http2, &http2->lanes[http2->lane_count], err) < 0) {
			http2->lane_count++;
			http2_close(http2);
			return -1;
		}
	*out = http2;
	return 0;
}

void http2_close(struct http2 *http2)
{
	if (!http2)
		return;
	for (size_t i = 0; i < http2->lane_count; i++)
		close_lane(&http2->lanes[i]);
	free(http2->lanes);
	free(http2);
}
