#include "server/push/push_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "profile/pprof.h"
#include "server/push/push_message.h"

#define REQUEST_BYTES_USUAL ((size_t)64 << 20) /* of one tick; a guess */

struct push_item {
	struct push_item *next;
	size_t length;
	char bytes[];
};

struct push_queue {
	struct push_queue_options options;
	pthread_t thread;

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	struct push_item *oldest;
	struct push_item **newest; /* where the next one is linked in */
	struct push_queue_counts counts;
	size_t tried_bytes;   /* of the one that is tried now; it waits no more */
	int64_t stop_mono_ns; /* 0: not told to stop */
	bool has_ended;       /* the thread: it may be joined at once */
};

/* ---- what waits ---- */

/* The mutex is held. */
static struct push_item *take(struct push_queue *queue)
{
	struct push_item *item = queue->oldest;

	queue->oldest = item->next;
	if (!queue->oldest)
		queue->newest = &queue->oldest;
	queue->counts.waiting--;
	queue->counts.waiting_bytes -= item->length;
	return item;
}

/* The mutex is held. */
static void put(struct push_queue *queue, struct push_item *item)
{
	while (queue->oldest &&
	       queue->counts.waiting_bytes + item->length > queue->options.max_bytes) {
		free(take(queue));
		queue->counts.dropped++;
	}
	*queue->newest = item;
	queue->newest = &item->next;
	queue->counts.waiting++;
	queue->counts.waiting_bytes += item->length;
}

void push_queue_add(struct push_queue *queue, struct str request)
{
	struct push_item *item = mem_zalloc(1, sizeof(*item) + request.length);
	uint64_t dropped;

	item->length = request.length;
	memcpy(item->bytes, request.data, request.length);
	pthread_mutex_lock(&queue->mutex);
	dropped = queue->counts.dropped;
	put(queue, item);
	dropped = queue->counts.dropped - dropped;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
	if (dropped > 0)
		log_rarely(LOG_WARN, "profiles wait for their server: the oldest were dropped");
}

struct push_queue_counts push_queue_counts(struct push_queue *queue)
{
	struct push_queue_counts counts;

	pthread_mutex_lock(&queue->mutex);
	counts = queue->counts;
	counts.waiting += queue->tried_bytes > 0;
	counts.waiting_bytes += queue->tried_bytes;
	pthread_mutex_unlock(&queue->mutex);
	return counts;
}

/* ---- delivery ---- */

/* Waits for a change or the time; the mutex is held. */
static void wait_until(struct push_queue *queue, int64_t mono_ns)
{
	const struct timespec until = { .tv_sec = mono_ns / NS_PER_S,
		                        .tv_nsec = mono_ns % NS_PER_S };

	(void)pthread_cond_timedwait(&queue->changed, &queue->mutex, &until);
}

static bool is_over(const struct push_queue *queue)
{
	return queue->stop_mono_ns != 0 && clock_mono_ns() >= queue->stop_mono_ns;
}

/* A pause, which the word to stop ends early: then every moment counts. */
static void pause_for(struct push_queue *queue, int64_t ns)
{
	const int64_t now = clock_mono_ns();
	const int64_t end = ns < INT64_MAX - now ? now + ns : INT64_MAX;

	while (clock_mono_ns() < end && queue->stop_mono_ns == 0)
		wait_until(queue, end);
}

/* The last pauses are short: each that is cut by the end was worth a try. */
static void pause_at_end(struct push_queue *queue)
{
	const int64_t end = clock_mono_ns() + queue->options.retry_first_ns;

	while (clock_mono_ns() < end && !is_over(queue))
		wait_until(queue, queue->stop_mono_ns < end ? queue->stop_mono_ns : end);
}

/* One try, without the mutex, which is held on both ends. */
static struct push_answer try_once(struct push_queue *queue, const struct push_item *item)
{
	const struct push_transport *transport = &queue->options.transport;
	struct error err = { 0 };
	struct push_answer answer;

	pthread_mutex_unlock(&queue->mutex);
	answer = transport->deliver(transport->context, str_make(item->bytes, item->length), &err);
	if (answer.outcome != PUSH_DELIVERED && err.code != ERROR_CANCELLED)
		log_rarely(LOG_WARN, "push: %s; %s", err.message,
		           answer.outcome == PUSH_RETRY ? "it is tried again"
		                                        : "what was sent is dropped");
	pthread_mutex_lock(&queue->mutex);
	return answer;
}

/* Tries until it is delivered, refused, or too late. The mutex is held on both ends. */
static void deliver(struct push_queue *queue, const struct push_item *item)
{
	int64_t pause = queue->options.retry_first_ns;
	struct push_answer answer;
	unsigned int failures = 0;

	while ((answer = try_once(queue, item)).outcome == PUSH_RETRY) {
		failures++;
		queue->counts.retried++;
		if (queue->stop_mono_ns == 0)
			pause_for(queue, answer.pause_ns > pause ? answer.pause_ns : pause);
		else
			pause_at_end(queue);
		if (is_over(queue))
			return;
		pause = pause * 2 < queue->options.retry_most_ns ? pause * 2
		                                                 : queue->options.retry_most_ns;
	}
	queue->counts.delivered += answer.outcome == PUSH_DELIVERED;
	queue->counts.refused += answer.outcome == PUSH_REFUSED;
	queue->tried_bytes = 0;
	if (answer.outcome == PUSH_DELIVERED && failures > 0)
		log_rarely(LOG_INFO, "push: delivered, failures before: %u", failures);
}

static void *run(void *context)
{
	struct push_queue *queue = context;

	log_name_thread("push");
	pthread_mutex_lock(&queue->mutex);
	for (;;) {
		while (!queue->oldest && queue->stop_mono_ns == 0)
			pthread_cond_wait(&queue->changed, &queue->mutex);
		if (!queue->oldest || is_over(queue))
			break;

		struct push_item *item = take(queue);

		queue->tried_bytes = item->length;
		deliver(queue, item);
		free(item);
	}
	queue->has_ended = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
	return NULL;
}

/* ---- life ---- */

struct push_queue *push_queue_new(const struct push_queue_options *options)
{
	struct push_queue *queue = mem_zalloc(1, sizeof(*queue));
	pthread_condattr_t attributes;

	queue->options = *options;
	if (queue->options.request_bytes == 0)
		queue->options.request_bytes = REQUEST_BYTES_USUAL;
	queue->newest = &queue->oldest;
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&queue->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (pthread_create(&queue->thread, NULL, run, queue) != 0)
		abort(); /* no thread at start: nothing would work */
	return queue;
}

/* Whether the thread has ended in the time that it was given. */
static bool ends_in_time(struct push_queue *queue)
{
	bool has_ended;

	pthread_mutex_lock(&queue->mutex);
	queue->stop_mono_ns = clock_mono_ns() + queue->options.last_moments_ns;
	pthread_cond_broadcast(&queue->changed);
	while (!queue->has_ended && !is_over(queue))
		wait_until(queue, queue->stop_mono_ns);
	has_ended = queue->has_ended;
	pthread_mutex_unlock(&queue->mutex);
	return has_ended;
}

void push_queue_free(struct push_queue *queue)
{
	const struct push_transport *transport;
	size_t lost;

	if (!queue)
		return;
	transport = &queue->options.transport;
	if (!ends_in_time(queue) && transport->cancel)
		transport->cancel(transport->context);
	pthread_join(queue->thread, NULL);
	lost = queue->counts.waiting + (queue->tried_bytes > 0);
	if (lost > 0)
		log_warn("%zu pushes were not delivered", lost);
	while (queue->oldest)
		free(take(queue));
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->mutex);
	free(queue);
}

/* ---- the sink ---- */

static void leave_out(struct push_queue *queue, const char *what)
{
	pthread_mutex_lock(&queue->mutex);
	queue->counts.dropped++;
	pthread_mutex_unlock(&queue->mutex);
	log_rarely(LOG_ERROR, "a %s of more than %zu bytes was left out", what,
	           queue->options.request_bytes);
}

static void encode(struct push_queue *queue, const struct sink_profile *profile, struct strbuf *out)
{
	CLEANUP(strbuf_fini) struct strbuf packed;
	CLEANUP(strbuf_fini) struct strbuf plain;

	strbuf_init(&plain, queue->options.request_bytes);
	strbuf_init(&packed, queue->options.request_bytes);
	pprof_write(profile->profile, &plain);
	gzip_deflate(strbuf_view(&plain), &packed);
	if (strbuf_overflowed(&plain) || strbuf_overflowed(&packed))
		leave_out(queue, "profile");
	else
		push_message_add(out, &profile->labels, strbuf_view(&packed));
}

static void push(void *context, const struct sink_profile *profiles, size_t count)
{
	struct push_queue *queue = context;
	CLEANUP(strbuf_fini) struct strbuf message;

	strbuf_init(&message, queue->options.request_bytes);
	for (size_t i = 0; i < count; i++)
		encode(queue, &profiles[i], &message);
	if (strbuf_overflowed(&message))
		leave_out(queue, "tick");
	else if (message.length > 0)
		push_queue_add(queue, strbuf_view(&message));
}

struct profile_sink push_queue_sink(struct push_queue *queue)
{
	return (struct profile_sink){ .push = push, .context = queue };
}
