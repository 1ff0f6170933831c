#include "server/push/link_sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/push/link_frame.h"

#define ANSWER_BYTES_MAX 64
#define ANSWER_WAIT_NS   (60 * NS_PER_S) /* a commit that takes longer is as good as lost */
#define LAST_WORD_NS     NS_PER_S        /* for metrics that are under way at the end; a guess */

struct link_sender {
	struct link_sender_options options;
	pthread_t reader;
	pthread_t metrics_writer;
	pthread_mutex_t writing; /* one frame at a time */

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	uint64_t asked;        /* sequence of the push that waits */
	uint32_t status;       /* of its answer; 0: none yet */
	bool is_pushing;       /* a push is being written */
	bool is_gone;          /* the server half */
	bool is_cancelled;     /* there is no time left */
	bool is_closing;       /* nothing more comes */
	bool has_metrics;      /* that nobody has written yet */
	bool has_written;      /* the thread that writes them has ended */
	struct strbuf metrics; /* the newest */
};

static int write_frame(struct link_sender *sender, enum link_kind kind, uint64_t sequence,
                       struct str payload, struct error *err)
{
	int status;

	pthread_mutex_lock(&sender->writing);
	status = link_frame_write(sender->options.fd, kind, sequence, payload, err);
	pthread_mutex_unlock(&sender->writing);
	return status;
}

/* False when the time has come; the mutex is held. */
static bool wait_until(struct link_sender *sender, int64_t mono_ns)
{
	const struct timespec until = { .tv_sec = mono_ns / NS_PER_S,
		                        .tv_nsec = mono_ns % NS_PER_S };

	return pthread_cond_timedwait(&sender->changed, &sender->mutex, &until) != ETIMEDOUT;
}

/* ---- the reading thread ---- */

bool link_wait_for_start(int fd, uint16_t *out_port)
{
	CLEANUP(strbuf_fini) struct strbuf payload;
	struct link_head head;
	struct error err = { 0 };

	strbuf_init(&payload, ANSWER_BYTES_MAX);
	if (link_frame_read(fd, &head, &payload, &err) != 1 || head.kind != LINK_START ||
	    payload.length != sizeof(*out_port))
		return false;
	memcpy(out_port, payload.data, sizeof(*out_port));
	return true;
}

static void take_answer(struct link_sender *sender, const struct link_head *head, struct str bytes)
{
	uint32_t status;

	if (bytes.length != sizeof(status))
		return;
	memcpy(&status, bytes.data, sizeof(status));
	pthread_mutex_lock(&sender->mutex);
	if (head->sequence == sender->asked) {
		sender->status = status;
		pthread_cond_broadcast(&sender->changed);
	}
	pthread_mutex_unlock(&sender->mutex);
}

/* True when it went by itself, and not since we did. */
static bool note_end(struct link_sender *sender)
{
	bool is_ours;

	pthread_mutex_lock(&sender->mutex);
	sender->is_gone = true;
	is_ours = sender->is_closing || sender->is_cancelled;
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->mutex);
	return !is_ours;
}

static void *read_answers(void *context)
{
	struct link_sender *sender = context;
	CLEANUP(strbuf_fini) struct strbuf payload;
	struct link_head head;
	struct error err = { .message = "it has closed the link" };
	bool is_told = false;

	log_name_thread("link");
	strbuf_init(&payload, ANSWER_BYTES_MAX);
	while (link_frame_read(sender->options.fd, &head, &payload, &err) == 1) {
		if (head.kind == LINK_ANSWER)
			take_answer(sender, &head, strbuf_view(&payload));
		if (head.kind == LINK_STOP && !is_told) {
			is_told = true;
			sender->options.stop();
		}
	}
	if (note_end(sender) && !is_told) {
		log_error("the server half has ended: %s; stopping", err.message);
		sender->options.stop();
	}
	return NULL;
}

/* ---- metrics ---- */

/* Waits for the newest text; false at the end. The mutex is held. */
static bool take_metrics(struct link_sender *sender, struct strbuf *out)
{
	while (!sender->has_metrics && !sender->is_closing)
		pthread_cond_wait(&sender->changed, &sender->mutex);
	if (!sender->has_metrics)
		return false;
	*out = sender->metrics;
	strbuf_init(&sender->metrics, LINK_METRICS_MAX);
	sender->has_metrics = false;
	return true;
}

static void *write_metrics(void *context)
{
	struct link_sender *sender = context;
	struct strbuf text;
	struct error err;

	log_name_thread("link metrics");
	pthread_mutex_lock(&sender->mutex);
	while (take_metrics(sender, &text)) {
		pthread_mutex_unlock(&sender->mutex);
		if (write_frame(sender, LINK_METRICS, 0, strbuf_view(&text), &err) < 0)
			log_debug("link: %s", err.message); /* the reader sees the end */
		strbuf_fini(&text);
		pthread_mutex_lock(&sender->mutex);
	}
	sender->has_written = true;
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->mutex);
	return NULL;
}

void link_sender_metrics(struct link_sender *sender, struct str text)
{
	pthread_mutex_lock(&sender->mutex);
	strbuf_reset(&sender->metrics);
	strbuf_add_str(&sender->metrics, text);
	sender->has_metrics = !strbuf_overflowed(&sender->metrics);
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->mutex);
}

/* ---- pushes ---- */

static bool is_over(const struct link_sender *sender)
{
	return sender->is_gone || sender->is_cancelled;
}

/* The status, or 0: too late, or nobody there. */
static uint32_t wait_for_answer(struct link_sender *sender)
{
	const int64_t end = clock_mono_ns() + ANSWER_WAIT_NS;

	while (sender->status == 0 && !is_over(sender) && wait_until(sender, end))
		continue;
	return sender->status;
}

/* The mutex is held on both ends. 0 as above. */
static uint32_t ask(struct link_sender *sender, struct str request, struct error *err)
{
	int written;

	sender->status = 0;
	sender->asked++;
	sender->is_pushing = true;
	pthread_mutex_unlock(&sender->mutex);
	written = write_frame(sender, LINK_PUSH, sender->asked, request, err);
	pthread_mutex_lock(&sender->mutex);
	sender->is_pushing = false;
	return written < 0 ? 0 : wait_for_answer(sender);
}

static struct push_answer judge(const struct link_sender *sender, uint32_t status,
                                struct error *err)
{
	if (status == 200)
		return (struct push_answer){ .outcome = PUSH_DELIVERED };
	if (status == 0 && is_over(sender))
		return (struct push_answer){ .outcome = PUSH_GONE };
	if (status == 0)
		(void)error_set(err, ERROR_TIMED_OUT, "the server half does not answer");
	else
		(void)error_set(err, ERROR_UNAVAILABLE, "the server half answered %u", status);
	return (struct push_answer){
		.outcome = status == 0 || status == 429 || status >= 500 ? PUSH_RETRY
		                                                         : PUSH_REFUSED,
	};
}

static struct push_answer deliver(void *context, struct str request, struct error *err)
{
	struct link_sender *sender = context;
	struct push_answer answer;

	pthread_mutex_lock(&sender->mutex);
	answer = judge(sender, is_over(sender) ? 0 : ask(sender, request, err), err);
	pthread_mutex_unlock(&sender->mutex);
	return answer;
}

/* A push that is being written waits for whoever reads; only an end of the link ends it. */
static void cancel(void *context)
{
	struct link_sender *sender = context;

	pthread_mutex_lock(&sender->mutex);
	sender->is_cancelled = true;
	if (sender->is_pushing)
		(void)shutdown(sender->options.fd, SHUT_RDWR);
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->mutex);
}

struct push_transport link_sender_transport(struct link_sender *sender)
{
	return (struct push_transport){ .deliver = deliver, .cancel = cancel, .context = sender };
}

/* ---- life ---- */

static void start(pthread_t *thread, void *(*run)(void *context), struct link_sender *sender)
{
	if (pthread_create(thread, NULL, run, sender) == 0)
		return;
	log_error("starting the link: the system has no thread left");
	abort();
}

struct link_sender *link_sender_new(const struct link_sender_options *options)
{
	struct link_sender *sender = mem_zalloc(1, sizeof(*sender));
	pthread_condattr_t attributes;

	sender->options = *options;
	strbuf_init(&sender->metrics, LINK_METRICS_MAX);
	pthread_mutex_init(&sender->writing, NULL);
	pthread_mutex_init(&sender->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&sender->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	start(&sender->reader, read_answers, sender);
	start(&sender->metrics_writer, write_metrics, sender);
	return sender;
}

static void write_what_is_left(struct link_sender *sender)
{
	const int64_t end = clock_mono_ns() + LAST_WORD_NS;

	pthread_mutex_lock(&sender->mutex);
	sender->is_closing = true;
	pthread_cond_broadcast(&sender->changed);
	while (!sender->has_written && wait_until(sender, end))
		continue;
	pthread_mutex_unlock(&sender->mutex);
}

void link_sender_free(struct link_sender *sender)
{
	if (!sender)
		return;
	write_what_is_left(sender);
	(void)shutdown(sender->options.fd, SHUT_RDWR);
	pthread_join(sender->metrics_writer, NULL);
	pthread_join(sender->reader, NULL);
	close(sender->options.fd);
	strbuf_fini(&sender->metrics);
	pthread_cond_destroy(&sender->changed);
	pthread_mutex_destroy(&sender->mutex);
	pthread_mutex_destroy(&sender->writing);
	free(sender);
}
