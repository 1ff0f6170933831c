#include "server/http/event_loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

struct event_loop {
	struct event_loop_options options;
	int wake_fd;
	pthread_t thread;

	pthread_mutex_t lock; /* guards everything below */
	struct connection *first_arrived;
	struct connection **last_arrived; /* where the next one is linked in */
	struct exchange *first_finished;
	struct exchange **last_finished;
	bool is_woken;
	bool is_closing;
};

/* With the lock held: one system call however much is handed over at a time. */
static void wake_locked(struct event_loop *loop)
{
	if (!loop->is_woken)
		(void)eventfd_write(loop->wake_fd, 1);
	loop->is_woken = true;
}

void event_loop_add(struct event_loop *loop, struct connection *connection)
{
	(void)pthread_mutex_lock(&loop->lock);
	connection->next_arrived = NULL;
	*loop->last_arrived = connection;
	loop->last_arrived = &connection->next_arrived;
	wake_locked(loop);
	(void)pthread_mutex_unlock(&loop->lock);
}

void event_loop_finish(struct event_loop *loop, struct exchange *exchange)
{
	(void)pthread_mutex_lock(&loop->lock);
	exchange->next = NULL;
	*loop->last_finished = exchange;
	loop->last_finished = &exchange->next;
	wake_locked(loop);
	(void)pthread_mutex_unlock(&loop->lock);
}

void event_loop_wake(struct event_loop *loop)
{
	(void)pthread_mutex_lock(&loop->lock);
	wake_locked(loop);
	(void)pthread_mutex_unlock(&loop->lock);
}

/* Takes over what was handed over. False when the loop is to end. */
static bool take_over(struct event_loop *loop)
{
	struct connection *connection;
	struct exchange *exchange;
	bool goes_on;
	eventfd_t ignored;

	(void)pthread_mutex_lock(&loop->lock);
	if (loop->is_woken)
		(void)eventfd_read(loop->wake_fd, &ignored);
	loop->is_woken = false;
	connection = loop->first_arrived;
	loop->first_arrived = NULL;
	loop->last_arrived = &loop->first_arrived;
	exchange = loop->first_finished;
	loop->first_finished = NULL;
	loop->last_finished = &loop->first_finished;
	goes_on = !loop->is_closing;
	(void)pthread_mutex_unlock(&loop->lock);

	while (connection) {
		struct connection *next = connection->next_arrived;

		loop->options.arrived(loop->options.context, connection);
		connection = next;
	}
	while (exchange) {
		struct exchange *next = exchange->next;

		loop->options.finished(loop->options.context, exchange);
		exchange = next;
	}
	return goes_on;
}

/* Owns its connections and the bytes in flight; ends when it is told to. */
static void *run(void *argument)
{
	struct event_loop *loop = argument;
	struct pollfd waits[] = {
		{ .fd = loop->wake_fd, .events = POLLIN },
		{ .fd = loop->options.fd, .events = POLLIN },
	};

	log_name_thread("event");
	while (take_over(loop)) {
		loop->options.run(loop->options.context);
		(void)poll(waits, ARRAY_LENGTH(waits),
		           loop->options.wait_ms(loop->options.context));
	}
	return NULL;
}

static void release(struct event_loop *loop)
{
	(void)pthread_mutex_destroy(&loop->lock);
	if (loop->wake_fd >= 0)
		(void)close(loop->wake_fd);
	free(loop);
}

int event_loop_open(const struct event_loop_options *options, struct event_loop **out,
                    struct error *err)
{
	struct event_loop *loop = mem_zalloc(1, sizeof(*loop));

	loop->options = *options;
	loop->last_arrived = &loop->first_arrived;
	loop->last_finished = &loop->first_finished;
	(void)pthread_mutex_init(&loop->lock, NULL);
	loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->wake_fd < 0) {
		(void)error_set_errno(err, errno, "making an event loop");
		release(loop);
		return -1;
	}
	if (pthread_create(&loop->thread, NULL, run, loop) != 0) {
		release(loop);
		return error_set(err, ERROR_IO, "starting an event thread");
	}
	*out = loop;
	return 0;
}

void event_loop_close(struct event_loop *loop)
{
	if (!loop)
		return;
	(void)pthread_mutex_lock(&loop->lock);
	loop->is_closing = true;
	wake_locked(loop);
	(void)pthread_mutex_unlock(&loop->lock);
	(void)pthread_join(loop->thread, NULL);
	release(loop);
}
