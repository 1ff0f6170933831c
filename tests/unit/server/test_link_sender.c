#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/push/link_frame.h"
#include "server/push/link_sender.h"

static _Atomic int stops;

static void count_stop(void)
{
	atomic_fetch_add(&stops, 1);
}

/* The other half: answers each push with the next status, until there is none. */
struct other_half {
	int fd;
	const uint32_t *statuses;
	size_t count;
	char last[64];
	enum link_kind last_kind;
};

static void *answer(void *context)
{
	struct other_half *half = context;
	struct strbuf payload;
	struct link_head head;
	struct error err;

	strbuf_init(&payload, 1000);
	for (size_t i = 0; link_frame_read(half->fd, &head, &payload, &err) == 1;) {
		half->last_kind = head.kind;
		memcpy(half->last, payload.data, payload.length + 1);
		if (head.kind == LINK_PUSH && i == half->count)
			break;
		/* an old sequence is not what is waited for */
		(void)link_frame_write(half->fd, LINK_ANSWER, head.sequence - 1,
		                       str_make(&(uint32_t){ 500 }, 4), &err);
		if (head.kind == LINK_PUSH)
			(void)link_frame_write(half->fd, LINK_ANSWER, head.sequence,
			                       str_make(&half->statuses[i++], 4), &err);
	}
	strbuf_fini(&payload);
	close(half->fd);
	return NULL;
}

static void the_status_of_the_route_decides(void **state)
{
	static const uint32_t statuses[] = { 200, 400, 401, 429, 503, 507 };
	static const enum push_outcome outcomes[] = { PUSH_DELIVERED, PUSH_REFUSED, PUSH_REFUSED,
		                                      PUSH_RETRY,     PUSH_RETRY,   PUSH_RETRY };
	struct other_half half = { .statuses = statuses, .count = 6 };
	struct push_transport transport;
	struct link_sender *sender;
	struct error err;
	pthread_t thread;
	int ends[2];

	(void)state;
	atomic_store(&stops, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	half.fd = ends[1];
	pthread_create(&thread, NULL, answer, &half);
	sender =
		link_sender_new(&(struct link_sender_options){ .fd = ends[0], .stop = count_stop });
	transport = link_sender_transport(sender);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(transport.deliver(transport.context, STR("profile"), &err).outcome,
		                 outcomes[i]);
	assert_string_equal(half.last, "profile");
	/* the half that ends within a push: not taken, nor are the next ones */
	assert_int_not_equal(transport.deliver(transport.context, STR("late"), &err).outcome,
	                     PUSH_DELIVERED);
	pthread_join(thread, NULL);
	while (atomic_load(&stops) == 0)
		sched_yield();
	assert_int_equal(transport.deliver(transport.context, STR("later"), &err).outcome,
	                 PUSH_GONE);
	link_sender_free(sender);
	assert_int_equal(atomic_load(&stops), 1);
}

static void a_stop_is_passed_on_once(void **state)
{
	struct link_sender *sender;
	struct error err;
	int ends[2];

	(void)state;
	atomic_store(&stops, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	sender =
		link_sender_new(&(struct link_sender_options){ .fd = ends[0], .stop = count_stop });
	assert_int_equal(link_frame_write(ends[1], LINK_STOP, 0, STR(""), &err), 0);
	while (atomic_load(&stops) == 0)
		sched_yield();
	link_sender_free(sender);
	assert_int_equal(atomic_load(&stops), 1);
	close(ends[1]);
}

/* A server half that is stopped: what is sent to it lies in the socket's buffer. */
static struct link_sender *sender_of_a_half_that_does_not_read(int ends[2])
{
	const int bytes = 4096;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), 0);
	return link_sender_new(&(struct link_sender_options){ .fd = ends[0], .stop = count_stop });
}

static void metrics_do_not_wait_for_a_half_that_does_not_read(void **state)
{
	static char text[1 << 20];
	struct strbuf payload;
	struct link_sender *sender;
	struct link_head head;
	struct error err;
	int ends[2];

	(void)state;
	sender = sender_of_a_half_that_does_not_read(ends);
	memset(text, 'a', sizeof(text));
	for (int i = 0; i < 100; i++)
		link_sender_metrics(sender, str_make(text, sizeof(text)));
	link_sender_metrics(sender, STR("the last"));
	/* it reads again: the newest of those that waited is what comes last */
	strbuf_init(&payload, sizeof(text));
	do
		assert_int_equal(link_frame_read(ends[1], &head, &payload, &err), 1);
	while (payload.length == sizeof(text));
	assert_true(str_equals(strbuf_view(&payload), "the last"));
	strbuf_fini(&payload);
	link_sender_free(sender);
	close(ends[1]);
}

struct delivery {
	struct push_transport transport;
	struct str request;
	struct push_answer answer;
	struct error err;
};

static void *deliver(void *context)
{
	struct delivery *delivery = context;
	const struct push_transport *transport = &delivery->transport;

	delivery->answer =
		transport->deliver(transport->context, delivery->request, &delivery->err);
	return NULL;
}

/* Whether it is being written, or waits for its answer. */
static void a_push_that_is_cancelled_ends(void **state)
{
	static char large[1 << 20];
	const struct str requests[] = { STR("small"), { large, sizeof(large) } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct delivery delivery = { .request = requests[i] };
		struct link_sender *sender;
		pthread_t thread;
		char byte;
		int ends[2];

		atomic_store(&stops, 0);
		sender = sender_of_a_half_that_does_not_read(ends);
		delivery.transport = link_sender_transport(sender);
		pthread_create(&thread, NULL, deliver, &delivery);
		assert_int_equal(recv(ends[1], &byte, 1, MSG_PEEK), 1); /* it is under way */
		delivery.transport.cancel(delivery.transport.context);
		pthread_join(thread, NULL);
		assert_int_equal(delivery.answer.outcome, PUSH_GONE);
		link_sender_free(sender);
		assert_int_equal(atomic_load(&stops), 0); /* nobody has said so */
		close(ends[1]);
	}
}

static void it_begins_when_the_server_half_serves(void **state)
{
	struct error err;
	uint16_t port = 0;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(link_frame_write(ends[1], LINK_START, 0, str_make(&(uint16_t){ 4040 }, 2),
	                                  &err),
	                 0);
	assert_true(link_wait_for_start(ends[0], &port));
	assert_int_equal(port, 4040);
	close(ends[1]); /* it has ended, with or without a word */
	assert_false(link_wait_for_start(ends[0], &port));
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_status_of_the_route_decides),
		cmocka_unit_test(a_stop_is_passed_on_once),
		cmocka_unit_test(metrics_do_not_wait_for_a_half_that_does_not_read),
		cmocka_unit_test(a_push_that_is_cancelled_ends),
		cmocka_unit_test(it_begins_when_the_server_half_serves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
