/*
 * Connections of HTTP/2 whose ends are both in the test's hands: what they may take, and when
 * they are given up.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/app_metrics.h"
#include "server/http/http2.h"
#include "server/options.h"
#include "server/routes/route.h"

#define PATH         "/healthz"
#define PREFACE      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define MEMORY       ((size_t)16 << 20)
#define TIMEOUT_NS   (500 * NS_PER_MS) /* of each phase */
#define PATIENCE_S   30
#define LARGE_HEAD   16200 /* bytes: more than the first piece of an arena, and one frame */
#define LARGE_ANSWER ((size_t)1 << 20)

enum {
	DATA = 0,
	HEADERS = 1,
	SETTINGS = 4,
	GOAWAY = 7,
	WINDOW_UPDATE = 8,
	END_STREAM = 1,
	END_HEADERS = 4,
};

struct fixture {
	struct options *options;
	struct app app;
	struct limits limits;
	struct worker_pool *pool;
	struct connections *connections;
	struct intake *intake;
	struct http2 *http2;
};

/* ---- handlers ---- */

static struct {
	pthread_mutex_t lock; /* guards everything below */
	pthread_cond_t changed;
	bool is_open;
} gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void gate_open(bool is_open)
{
	(void)pthread_mutex_lock(&gate.lock);
	gate.is_open = is_open;
	(void)pthread_cond_broadcast(&gate.changed);
	(void)pthread_mutex_unlock(&gate.lock);
}

static enum exchange_state serve_gated(struct exchange *exchange)
{
	(void)pthread_mutex_lock(&gate.lock);
	while (!gate.is_open)
		(void)pthread_cond_wait(&gate.changed, &gate.lock);
	(void)pthread_mutex_unlock(&gate.lock);
	http_response_text(&exchange->response, 200, "text/plain", STR("gated"));
	return EXCHANGE_DONE;
}

static enum exchange_state serve_much(struct exchange *exchange)
{
	http_response_text(&exchange->response, 200, "text/plain", STR(""));
	while (exchange->response.body.length < LARGE_ANSWER)
		strbuf_add_text(&exchange->response.body, "sixteen bytes...");
	return EXCHANGE_DONE;
}

static enum exchange_state serve_little(struct exchange *exchange)
{
	http_response_text(&exchange->response, 200, "text/plain", STR("little"));
	return EXCHANGE_DONE;
}

/* The table is the program's; this file puts a handler of its own behind one of its paths. */
static void serve_with(route_handler handler)
{
	union {
		const struct route *found;
		struct route *changeable;
	} route = { .found = route_find(STR(PATH)) };

	route.changeable->handler = handler;
	route.changeable->flags = ROUTE_ANY_METHOD;
}

/* ---- a server ---- */

static int open_all(struct fixture *f)
{
	struct connections_options options = { .max = 1000 };
	struct error err = { 0 };

	options.timeout_ns[CONNECTION_SENDING] = TIMEOUT_NS;
	options.timeout_ns[CONNECTION_IDLE] = TIMEOUT_NS;
	f->options = options_new();
	f->app.options = f->options;
	budget_init(&f->app.memory, MEMORY);
	f->app.registry = metrics_new();
	f->app.metrics = app_metrics_new(f->app.registry);
	atomic_init(&f->app.limits, &f->limits);
	f->pool = worker_pool_new(&(struct worker_pool_options){
		.workers = 2, .queue_length = 200, .weight_limit = SIZE_MAX });
	if (connections_new(&options, &f->connections, &err) < 0)
		return -1;
	f->intake = intake_new(&f->app, f->pool);
	return http2_open(&(struct http2_options){ .intake = f->intake,
	                                           .connections = f->connections,
	                                           .event_threads = 1,
	                                           .max_streams = 100 },
	                  &f->http2, &err);
}

static int set_up(void **state)
{
	struct fixture *f = mem_zalloc(1, sizeof(*f));

	gate_open(false);
	*state = f;
	return open_all(f);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	gate_open(true);
	worker_pool_free(f->pool);
	http2_close(f->http2);
	assert_int_equal(intake_in_flight(f->intake), 0);
	intake_free(f->intake);
	connections_free(f->connections);
	assert_int_equal(budget_used(&f->app.memory), 0);
	app_metrics_free(f->app.metrics);
	metrics_free(f->app.registry);
	options_free(f->options);
	free(f);
	return 0;
}

/* ---- a peer ---- */

static void say(int fd, const void *bytes, size_t length)
{
	assert_int_equal(send(fd, bytes, length, MSG_NOSIGNAL), length);
}

static void say_frame(int fd, uint8_t type, uint8_t flags, uint32_t stream, struct str payload)
{
	const char head[] = { (char)(payload.length >> 16),
		              (char)(payload.length >> 8),
		              (char)payload.length,
		              (char)type,
		              (char)flags,
		              (char)(stream >> 24),
		              (char)(stream >> 16),
		              (char)(stream >> 8),
		              (char)stream };

	say(fd, head, sizeof(head));
	if (payload.length > 0)
		say(fd, payload.data, payload.length);
}

/* One that is gone when the server looks at it. */
static void dial_and_go(const struct fixture *f)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	(void)close(ends[0]);
	http2_add(f->http2, connections_open(f->connections, ends[1], CONNECTION_FIRST_BYTES));
}

/* Connected, with all windows open. The server's socket holds some KiB. */
static int dial(const struct fixture *f)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	const int little = 4096;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	(void)setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &little, sizeof(little));
	http2_add(f->http2, connections_open(f->connections, ends[1], CONNECTION_FIRST_BYTES));
	say(ends[0], PREFACE, strlen(PREFACE));
	say_frame(ends[0], SETTINGS, 0, 0, STR("\0\4\x7f\xff\xff\xff"));
	say_frame(ends[0], WINDOW_UPDATE, 0, 0, STR("\x7f\xff\0\0"));
	return ends[0];
}

/* A head of the path, and of `padding` bytes in a field. */
static void ask(int fd, uint32_t stream, uint8_t flags, size_t padding)
{
	/* method, scheme, authority and path; "x", the length of its value begun */
	const char fields[] = "\x82\x86\x01\x01h\x04\x08" PATH "\x40\x01x\x7f";
	char head[20000];
	size_t length = sizeof(fields) - 1;

	assert_true(padding >= 0x7f + 0x80 && padding < sizeof(head) - 100);
	memcpy(head, fields, length);
	head[length++] = (char)(0x80 | ((padding - 0x7f) & 0x7f));
	head[length++] = (char)((padding - 0x7f) >> 7 & 0x7f);
	if ((padding - 0x7f) >> 14) {
		head[length - 1] = (char)(head[length - 1] | (char)0x80);
		head[length++] = (char)((padding - 0x7f) >> 14);
	}
	memset(head + length, 'y', padding);
	say_frame(fd, HEADERS, flags | END_HEADERS, stream, str_make(head, length + padding));
}

struct frame {
	uint8_t type;
	uint8_t flags;
	uint32_t stream;
	uint8_t first; /* byte of the payload */
};

/* False at the end of the connection. */
static bool hear_frame(int fd, struct frame *out)
{
	unsigned char head[9];
	unsigned char payload[20000];
	size_t length;

	if (recv(fd, head, sizeof(head), MSG_WAITALL) != (ssize_t)sizeof(head))
		return false;
	length = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
	assert_true(length <= sizeof(payload));
	*out = (struct frame){ head[3], head[4], (uint32_t)head[7] << 8 | head[8], 0 };
	if (length > 0 && recv(fd, payload, length, MSG_WAITALL) != (ssize_t)length)
		return false;
	if (length > 0)
		out->first = payload[0];
	return true;
}

/* The first frame of that type and stream from now on. */
static struct frame hear(int fd, uint8_t type, uint32_t stream)
{
	struct frame frame;

	do {
		if (!hear_frame(fd, &frame))
			fail_msg("the connection has ended before a frame of type %d", type);
	} while (frame.type != type || frame.stream != stream);
	return frame;
}

#define STATUS_200 0x88 /* as header compression has it */

/* ---- tests ---- */

/* A hundred heads take a share of the memory; others find room. */
static void large_heads_leave_room_for_other_connections(void **state)
{
	const struct fixture *f = *state;
	int greedy;
	int other;

	serve_with(serve_little);
	greedy = dial(f);
	for (uint32_t i = 0; i < 100; i++)
		ask(greedy, 2 * i + 1, 0, LARGE_HEAD);
	say_frame(greedy, DATA, END_STREAM, 1, STR(""));
	assert_int_equal(hear(greedy, HEADERS, 1).first, STATUS_200);
	assert_true(budget_used(&f->app.memory) < MEMORY);
	other = dial(f);
	for (uint32_t i = 0; i < 10; i++)
		ask(other, 2 * i + 1, 0, LARGE_HEAD);
	for (uint32_t i = 0; i < 10; i++) {
		say_frame(other, DATA, END_STREAM, 2 * i + 1, STR(""));
		assert_int_equal(hear(other, HEADERS, 2 * i + 1).first, STATUS_200);
	}
	(void)close(greedy);
	(void)close(other);
}

/* Takes what there is now and then, so that something is always sent. */
static void who_reads_a_little_at_a_time_is_given_up(void **state)
{
	const struct fixture *f = *state;
	char bytes[1024];
	size_t taken = 0;
	int peer;

	serve_with(serve_much);
	peer = dial(f);
	ask(peer, 1, END_STREAM, 300);
	assert_int_equal(hear(peer, HEADERS, 1).first, STATUS_200);
	while (budget_used(&f->app.memory) >= LARGE_ANSWER) {
		const ssize_t count = recv(peer, bytes, sizeof(bytes), 0);

		assert_true(count > 0);
		taken += (size_t)count;
		(void)poll(NULL, 0, 80); /* it is this slow: some pieces in each timeout */
	}
	/* two timeouts, and not even what had left the stream before the first of them */
	assert_true(taken < sizeof(bytes) * 20);
	(void)close(peer);
}

static void a_connection_is_idle_from_its_last_answer_on(void **state)
{
	const struct fixture *f = *state;
	int64_t answered_mono_ns;
	int busy;
	int idle;

	serve_with(serve_gated);
	busy = dial(f);
	ask(busy, 1, END_STREAM, 300);
	idle = dial(f);
	(void)hear(idle, GOAWAY, 0); /* it has waited as long as one may that does nothing */
	answered_mono_ns = clock_mono_ns();
	gate_open(true);
	assert_int_equal(hear(busy, HEADERS, 1).first, STATUS_200);
	(void)hear(busy, GOAWAY, 0);
	assert_true(clock_mono_ns() - answered_mono_ns >= TIMEOUT_NS);
	(void)close(busy);
	(void)close(idle);
}

/* Peers that are gone when they arrive do not keep another one from its end. */
static void draining_goes_on_whoever_arrives(void **state)
{
	const struct fixture *f = *state;
	struct pollfd readable;
	struct frame frame;
	int busy;

	serve_with(serve_gated);
	busy = dial(f);
	ask(busy, 1, END_STREAM, 300);
	(void)hear(busy, SETTINGS, 0);
	http2_drain(f->http2);
	(void)hear(busy, GOAWAY, 0); /* to come is one that says which stream was the last */
	readable = (struct pollfd){ .fd = busy, .events = POLLIN };
	for (int i = 0; i < 100; i++) {
		dial_and_go(f);
		while (poll(&readable, 1, 50) > 0) {
			assert_true(hear_frame(busy, &frame));
			if (frame.type == GOAWAY) {
				(void)close(busy);
				return;
			}
		}
	}
	fail_msg("the connection is never told to end");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(large_heads_leave_room_for_other_connections,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_reads_a_little_at_a_time_is_given_up, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_connection_is_idle_from_its_last_answer_on,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(draining_goes_on_whoever_arrives, set_up,
		                                tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
