#include "server/push/push_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "profile/pprof.h"
#include "server/push/push_message.h"

#define REQUEST_BYTES_USUAL ((size_t)64 << 20) /* of one tick; a guess */
#define TROUBLE_BYTES       ERROR_MESSAGE_SIZE

struct push_queue {
	struct push_queue_options options;
	struct push_backlog *backlog;
	pthread_t thread;
	char trouble[TROUBLE_BYTES]; /* the thread's: what was logged last, of this trouble */
	unsigned int failures;       /* the thread's: since the last delivery */

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	uint64_t delivered;
	uint64_t retried;
	uint64_t refused;
	int64_t stop_mono_ns; /* 0: not told to stop */
	bool has_ended;       /* the thread: it may be joined at once */
};

void push_queue_add(struct push_queue *queue, struct str request)
{
	push_backlog_add(queue->backlog, request);
}

struct push_queue_counts push_queue_counts(struct push_queue *queue)
{
	struct push_queue_counts counts;

	pthread_mutex_lock(&queue->mutex);
	counts = (struct push_queue_counts){ .delivered = queue->delivered,
		                             .retried = queue->retried,
		                             .refused = queue->refused };
	pthread_mutex_unlock(&queue->mutex);
	counts.backlog = push_backlog_counts(queue->backlog);
	return counts;
}

uint64_t push_queue_dropped(const struct push_queue_counts *counts)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < PUSH_DROP_COUNT; i++)
		sum += counts->backlog.dropped[i];
	return sum;
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

/* Of a trouble that lasts one line is enough: it says that it is over, too. */
static void say_trouble(struct push_queue *queue, enum push_outcome outcome,
                        const struct error *err)
{
	if (strcmp(err->message, queue->trouble) == 0)
		return;
	log_rarely(LOG_WARN, "push: %s; %s", err->message,
	           outcome == PUSH_RETRY ? "it is tried again" : "what was sent is dropped");
	if (outcome == PUSH_RETRY)
		(void)snprintf(queue->trouble, sizeof(queue->trouble), "%s", err->message);
}

/* One try, without the mutex, which is held on both ends. */
static struct push_answer try_once(struct push_queue *queue, const struct push_taken *taken)
{
	const struct push_transport *transport = &queue->options.transport;
	struct error err = { 0 };
	struct push_answer answer;

	pthread_mutex_unlock(&queue->mutex);
	answer = transport->deliver(transport->context, taken->request, &err);
	if (answer.outcome == PUSH_RETRY || answer.outcome == PUSH_REFUSED)
		say_trouble(queue, answer.outcome, &err);
	if (answer.outcome == PUSH_DELIVERED || answer.outcome == PUSH_REFUSED)
		push_backlog_settle(queue->backlog);
	else
		push_backlog_secure(queue->backlog);
	pthread_mutex_lock(&queue->mutex);
	return answer;
}

/* A quarter more at most: machines whose server comes back do not all ask at once. */
static int64_t spread(int64_t ns)
{
	const struct uuid random = uuid_random();

	return ns < INT64_MAX / 2 ? ns + ns / 4 * random.bytes[0] / UINT8_MAX : ns;
}

static void pause_before_retry(struct push_queue *queue, int64_t usual_ns, int64_t asked_ns)
{
	if (queue->stop_mono_ns == 0)
		pause_for(queue, spread(asked_ns > usual_ns ? asked_ns : usual_ns));
	else
		pause_at_end(queue);
}

/* What became of a try; the mutex is held. */
static void count(struct push_queue *queue, enum push_outcome outcome)
{
	queue->delivered += outcome == PUSH_DELIVERED;
	queue->refused += outcome == PUSH_REFUSED;
	queue->retried += outcome == PUSH_RETRY;
	queue->failures += outcome == PUSH_RETRY;
	if (outcome != PUSH_DELIVERED || queue->failures == 0)
		return;
	log_rarely(LOG_INFO, "push: delivered, failures before: %u", queue->failures);
	queue->failures = 0;
	queue->trouble[0] = '\0';
}

/* Drops what is too old, without the mutex: whoever asks for counts waits for no disk. */
static bool expires(struct push_queue *queue)
{
	bool is_dropped;

	pthread_mutex_unlock(&queue->mutex);
	is_dropped = push_backlog_expire(queue->backlog);
	pthread_mutex_lock(&queue->mutex);
	return is_dropped;
}

/*
 * Tries until it is delivered or refused; PUSH_RETRY: it has become too old, or there is no
 * time left. The mutex is held on both ends.
 */
static enum push_outcome deliver(struct push_queue *queue, const struct push_taken *taken)
{
	int64_t pause = queue->options.retry_first_ns;
	struct push_answer answer;

	while (!expires(queue)) {
		answer = try_once(queue, taken);
		count(queue, answer.outcome);
		if (answer.outcome != PUSH_RETRY)
			return answer.outcome;
		pause_before_retry(queue, pause, answer.pause_ns);
		if (is_over(queue))
			break;
		pause = pause * 2 < queue->options.retry_most_ns ? pause * 2
		                                                 : queue->options.retry_most_ns;
	}
	return PUSH_RETRY;
}

/* After a delivery, before the next one: what has piled up does not go out all at once. */
static void pause_between(struct push_queue *queue, size_t length, int64_t begin_mono_ns)
{
	const struct push_queue_options *options = &queue->options;
	int64_t bytes_ns = 0;
	int64_t least;
	int64_t spent;

	if (push_backlog_counts(queue->backlog).waiting == 0)
		return;
	if (options->drain_bytes_s > 0)
		bytes_ns = (int64_t)(length * (uint64_t)NS_PER_S / options->drain_bytes_s);
	least = options->drain_pause_ns > bytes_ns ? options->drain_pause_ns : bytes_ns;
	spent = clock_mono_ns() - begin_mono_ns;
	if (spent < least)
		pause_for(queue, least - spent);
}

/* One of them, as far as there is time; false: it is time to end. */
static bool deliver_taken(struct push_queue *queue, const struct push_taken *taken)
{
	const int64_t begin = clock_mono_ns();
	const size_t length = taken->request.length;
	enum push_outcome outcome;

	if (is_over(queue))
		return false;
	outcome = deliver(queue, taken);
	if (outcome == PUSH_DELIVERED)
		pause_between(queue, length, begin);
	return outcome != PUSH_GONE && !is_over(queue);
}

static void *run(void *context)
{
	struct push_queue *queue = context;
	struct push_taken taken;
	bool goes_on = true;

	log_name_thread("push");
	while (goes_on && push_backlog_take(queue->backlog, &taken)) {
		pthread_mutex_lock(&queue->mutex);
		goes_on = deliver_taken(queue, &taken);
		pthread_mutex_unlock(&queue->mutex);
	}
	pthread_mutex_lock(&queue->mutex);
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
	queue->backlog = push_backlog_new(&options->backlog);
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

static void say_what_is_left(const struct push_queue *queue, size_t lost, size_t kept)
{
	if (lost > 0)
		log_warn("%zu push%s not delivered", lost, lost == 1 ? " was" : "es were");
	if (kept > 0)
		log_info("%zu push%s in the spool %s", kept, kept == 1 ? " waits" : "es wait",
		         queue->options.backlog.spool_path);
}

void push_queue_free(struct push_queue *queue)
{
	const struct push_transport *transport;
	size_t lost;
	size_t kept;

	if (!queue)
		return;
	transport = &queue->options.transport;
	push_backlog_close(queue->backlog);
	if (!ends_in_time(queue) && transport->cancel)
		transport->cancel(transport->context);
	pthread_join(queue->thread, NULL);
	push_backlog_free(queue->backlog, &lost, &kept);
	say_what_is_left(queue, lost, kept);
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->mutex);
	free(queue);
}

/* ---- the sink ---- */

static void leave_out(struct push_queue *queue, const char *what)
{
	push_backlog_count_drop(queue->backlog, PUSH_DROP_TOO_LARGE);
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
