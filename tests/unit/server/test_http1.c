/*
 * Requests through sockets, workers and back, with a handler of our own on a route of the
 * program.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/app_metrics.h"
#include "server/http/http1.h"
#include "server/http/listener.h"
#include "server/options.h"
#include "server/routes/route.h"

#define PATH    "/healthz"
#define REQUEST "GET " PATH " HTTP/1.1\r\nHost: x\r\n\r\n"
#define CLIENTS 64

struct fixture {
	struct options *options;
	struct app app;
	struct limits limits;
	struct worker_pool *pool;
	struct connections *connections;
	struct intake *intake;
	struct http1 *http1;
	struct http2 *http2;
	struct listener *listener;
};

/* What the handler under test does; set before a request is sent. */
static struct {
	pthread_mutex_t lock; /* guards everything below */
	pthread_cond_t changed;
	bool is_open; /* handlers that wait go on */
	size_t entered;
	size_t cancelled;
	size_t left;
} gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void gate_note(size_t *counter)
{
	(void)pthread_mutex_lock(&gate.lock);
	(*counter)++;
	(void)pthread_cond_broadcast(&gate.changed);
	(void)pthread_mutex_unlock(&gate.lock);
}

static void gate_set(bool is_open)
{
	(void)pthread_mutex_lock(&gate.lock);
	gate.is_open = is_open;
	(void)pthread_cond_broadcast(&gate.changed);
	(void)pthread_mutex_unlock(&gate.lock);
}

static void gate_wait_for(const size_t *counter, size_t value)
{
	(void)pthread_mutex_lock(&gate.lock);
	while (*counter < value)
		(void)pthread_cond_wait(&gate.changed, &gate.lock);
	(void)pthread_mutex_unlock(&gate.lock);
}

static enum exchange_state serve_echo(struct exchange *exchange)
{
	http_response_text(&exchange->response, 200, "text/plain", exchange->request.body);
	return EXCHANGE_DONE;
}

/* Waits for the gate, or until nobody waits for the answer. */
static enum exchange_state serve_gated(struct exchange *exchange)
{
	bool is_gone = false;

	gate_note(&gate.entered);
	(void)pthread_mutex_lock(&gate.lock);
	while (!gate.is_open && !is_gone) {
		struct timespec soon;

		(void)clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_nsec += 5000000;
		soon.tv_sec += soon.tv_nsec / 1000000000;
		soon.tv_nsec %= 1000000000;
		(void)pthread_cond_timedwait(&gate.changed, &gate.lock, &soon);
		is_gone = exchange->cancel.gone &&
		          atomic_load_explicit(exchange->cancel.gone, memory_order_relaxed);
	}
	(void)pthread_mutex_unlock(&gate.lock);
	gate_note(is_gone ? &gate.cancelled : &gate.left);
	http_response_text(&exchange->response, 200, "text/plain", STR("gated"));
	return EXCHANGE_DONE;
}

static void *finish_later(void *argument)
{
	struct exchange *exchange = argument;

	http_response_text(&exchange->response, 200, "text/plain", STR("later"));
	exchange_finish(exchange);
	return NULL;
}

/* As the store's writer does: another thread finishes, perhaps before this returns. */
static enum exchange_state serve_pending(struct exchange *exchange)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, finish_later, exchange) != 0)
		abort();
	(void)pthread_detach(thread);
	return EXCHANGE_PENDING;
}

static enum exchange_state serve_finished(struct exchange *exchange)
{
	(void)finish_later(exchange);
	return EXCHANGE_PENDING;
}

static int open_all(struct fixture *f, size_t workers, size_t queue_length)
{
	struct error err = { 0 };

	f->options = options_new();
	f->app.options = f->options;
	budget_init(&f->app.memory, f->options->memory_limit);
	f->app.registry = metrics_new();
	f->app.metrics = app_metrics_new(f->app.registry);
	atomic_init(&f->app.limits, &f->limits);
	f->pool = worker_pool_new(&(struct worker_pool_options){
		.workers = workers, .queue_length = queue_length, .weight_limit = SIZE_MAX });
	if (connections_new(&(struct connections_options){ .max = 1000 }, &f->connections, &err) <
	    0)
		return -1;
	f->intake = intake_new(&f->app, f->pool);
	if (http1_open(&(struct http1_options){ .intake = f->intake,
	                                        .connections = f->connections,
	                                        .event_threads = 1,
	                                        .max_connections = 1000 },
	               &f->http1, &err) < 0 ||
	    http2_open(&(struct http2_options){ .intake = f->intake,
	                                        .connections = f->connections,
	                                        .event_threads = 1,
	                                        .max_streams = 100 },
	               &f->http2, &err) < 0)
		return -1;
	return listener_open(&(struct listener_options){ .address = "127.0.0.1",
	                                                 .connections = f->connections,
	                                                 .http1 = f->http1,
	                                                 .http2 = f->http2 },
	                     &f->listener, &err);
}

static int set_up(void **state)
{
	struct fixture *f = mem_zalloc(1, sizeof(*f));

	gate.is_open = false;
	gate.entered = gate.cancelled = gate.left = 0;
	*state = f;
	return open_all(f, 2, 2);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->app.stopping, true);
	listener_stop(f->listener);
	gate_set(true);
	while (intake_in_flight(f->intake) > 0)
		(void)usleep(1000);
	listener_close(f->listener);
	http1_close(f->http1);
	http2_close(f->http2);
	worker_pool_free(f->pool);
	intake_free(f->intake);
	connections_free(f->connections);
	assert_int_equal(budget_used(&f->app.memory), 0);
	app_metrics_free(f->app.metrics);
	metrics_free(f->app.registry);
	options_free(f->options);
	free(f);
	return 0;
}

/* The table is the program's; this file puts a handler of its own behind one of its paths. */
static void serve_with(route_handler handler, unsigned flags)
{
	union {
		const struct route *found;
		struct route *changeable;
	} route = { .found = route_find(STR(PATH)) };

	route.changeable->handler = handler;
	route.changeable->flags = flags;
}

/* ---- a client ---- */

static int dial(const struct fixture *f)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
		                             .sin_port = htons(listener_port(f->listener)),
		                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct timeval patience = { .tv_sec = 30 };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Reads until `wanted` stands in what came, or the end. */
static bool hear(int fd, const char *wanted)
{
	char text[4096] = "";
	size_t length = 0;

	while (!strstr(text, wanted) && length < sizeof(text) - 1) {
		const ssize_t count = recv(fd, text + length, sizeof(text) - 1 - length, 0);

		if (count <= 0)
			return false;
		length += (size_t)count;
		text[length] = '\0';
	}
	return true;
}

static void reset(int fd)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	assert_int_equal(close(fd), 0);
}

/* ---- tests ---- */

static void a_worker_answers_with_the_body(void **state)
{
	const int fd = dial(*state);

	serve_with(serve_echo, ROUTE_ANY_METHOD);
	for (int i = 0; i < 3; i++) {
		say(fd, "POST " PATH " HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
		assert_true(hear(fd, "\r\n\r\nhello"));
	}
	say(fd, "POST " PATH " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	        "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n");
	assert_true(hear(fd, "\r\n\r\nabcde"));
	assert_int_equal(close(fd), 0);
}

/* The library's record of 3,000 arguments does not fit; tear_down() waits for the request's end. */
static void a_query_of_many_arguments_is_answered(void **state)
{
	char request[4096];
	const int fd = dial(*state);
	int length;

	serve_with(serve_echo, ROUTE_ANY_METHOD);
	length = snprintf(request, sizeof(request), "POST " PATH "?");
	memset(request + length, '&', 3000);
	(void)snprintf(request + length + 3000, sizeof(request) - (size_t)length - 3000,
	               " HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
	say(fd, request);
	assert_true(hear(fd, "\r\n\r\nhello"));
	assert_int_equal(close(fd), 0);
}

static void a_pending_request_is_finished_from_anywhere(void **state)
{
	const int fd = dial(*state);

	serve_with(serve_pending, 0);
	for (int i = 0; i < 20; i++) {
		say(fd, REQUEST);
		assert_true(hear(fd, "\r\n\r\nlater"));
	}
	serve_with(serve_finished, 0);
	for (int i = 0; i < 20; i++) {
		say(fd, REQUEST);
		assert_true(hear(fd, "\r\n\r\nlater"));
	}
	assert_int_equal(close(fd), 0);
}

static void a_reset_cancels_a_query_at_once(void **state)
{
	const int fd = dial(*state);
	int64_t start_ns;

	serve_with(serve_gated, 0);
	say(fd, REQUEST);
	gate_wait_for(&gate.entered, 1);
	start_ns = clock_mono_ns();
	reset(fd);
	gate_wait_for(&gate.cancelled, 1);
	assert_true(clock_mono_ns() - start_ns < NS_PER_S / 2);
}

static void a_half_close_cancels_a_query_after_a_second(void **state)
{
	const int fd = dial(*state);
	int64_t start_ns;

	serve_with(serve_gated, 0);
	say(fd, REQUEST);
	gate_wait_for(&gate.entered, 1);
	start_ns = clock_mono_ns();
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	gate_wait_for(&gate.cancelled, 1);
	assert_true(clock_mono_ns() - start_ns >= NS_PER_S * 9 / 10);
	assert_int_equal(close(fd), 0);
}

static void a_half_closed_client_is_answered_in_time(void **state)
{
	const int fd = dial(*state);

	serve_with(serve_gated, 0);
	say(fd, REQUEST);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	gate_wait_for(&gate.entered, 1);
	gate_set(true);
	assert_true(hear(fd, "gated"));
	assert_int_equal(close(fd), 0);
}

static void a_write_finishes_without_its_client(void **state)
{
	const int fd = dial(*state);
	const int other = dial(*state);

	serve_with(serve_gated, ROUTE_WRITE);
	say(fd, REQUEST);
	gate_wait_for(&gate.entered, 1);
	reset(fd);
	/* the reset has been noticed when a later request went through the same threads */
	say(other, "GET /ready HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(hear(other, "ready"));
	gate_set(true);
	gate_wait_for(&gate.left, 1);
	assert_int_equal(gate.cancelled, 0);
	assert_int_equal(close(other), 0);
}

static void a_full_queue_is_told_and_cheap_routes_go_on(void **state)
{
	int fds[4];
	const int late = dial(*state);

	serve_with(serve_gated, 0);
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
		fds[i] = dial(*state);
		say(fds[i], REQUEST);
		if (i < 2) /* a worker each; the others wait in the queue of two */
			gate_wait_for(&gate.entered, i + 1);
	}
	while (worker_pool_queue_length(((struct fixture *)*state)->pool) < 2)
		(void)usleep(1000);
	say(late, REQUEST);
	assert_true(hear(late, "503 Service Unavailable"));
	say(late, "GET /ready HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(hear(late, "\r\n\r\nready"));
	gate_set(true);
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
		assert_true(hear(fds[i], "gated"));
		assert_int_equal(close(fds[i]), 0);
	}
	assert_int_equal(close(late), 0);
}

static void full_memory_is_told(void **state)
{
	struct fixture *f = *state;
	const int fd = dial(f);
	static char body[300 << 10];
	const size_t all = f->app.memory.limit - ((size_t)100 << 10);

	serve_with(serve_echo, ROUTE_ANY_METHOD);
	assert_true(budget_take(&f->app.memory, all));
	say(fd, "POST " PATH " HTTP/1.1\r\nHost: x\r\nContent-Length: 307200\r\n\r\n");
	(void)send(fd, body, sizeof(body), MSG_NOSIGNAL);
	assert_true(hear(fd, "503 Service Unavailable"));
	budget_give(&f->app.memory, all);
	assert_int_equal(close(fd), 0);
}

static void clients_at_a_time_get_their_own_answers(void **state)
{
	int fds[CLIENTS];
	char text[256];

	/* more requests than the queue holds are told so, and served when they ask again */
	serve_with(serve_echo, ROUTE_ANY_METHOD | ROUTE_INLINE);
	for (size_t i = 0; i < CLIENTS; i++) {
		fds[i] = dial(*state);
		(void)snprintf(text, sizeof(text),
		               "POST " PATH
		               " HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nclient%02zu",
		               i);
		say(fds[i], text);
	}
	for (size_t i = 0; i < CLIENTS; i++) {
		(void)snprintf(text, sizeof(text), "%02zu", i);
		say(fds[i], text);
	}
	for (size_t i = 0; i < CLIENTS; i++) {
		(void)snprintf(text, sizeof(text), "\r\n\r\nclient%02zu%02zu", i, i);
		assert_true(hear(fds[i], text));
		assert_int_equal(close(fds[i]), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_worker_answers_with_the_body, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_query_of_many_arguments_is_answered, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_pending_request_is_finished_from_anywhere, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_reset_cancels_a_query_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_half_close_cancels_a_query_after_a_second, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_half_closed_client_is_answered_in_time, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_write_finishes_without_its_client, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_full_queue_is_told_and_cheap_routes_go_on, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(full_memory_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(clients_at_a_time_get_their_own_answers, set_up,
		                                tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
