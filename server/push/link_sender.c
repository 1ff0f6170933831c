#include "server/push/link_sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
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

struct link_sender {
	struct link_sender_options options;
	pthread_t thread;
	pthread_mutex_t writing; /* one frame at a time */

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t answered;
	uint64_t asked;  /* sequence of the push that waits */
	uint32_t status; /* of its answer; 0: none yet */
	bool is_gone;    /* the server half */
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

/* ---- the reading thread ---- */

static void take_answer(struct link_sender *sender, const struct link_head *head, struct str bytes)
{
	uint32_t status;

	if (bytes.length != sizeof(status))
		return;
	memcpy(&status, bytes.data, sizeof(status));
	pthread_mutex_lock(&sender->mutex);
	if (head->sequence == sender->asked) {
		sender->status = status;
		pthread_cond_signal(&sender->answered);
	}
	pthread_mutex_unlock(&sender->mutex);
}

static void *run(void *context)
{
	struct link_sender *sender = context;
	CLEANUP(strbuf_fini) struct strbuf payload;
	struct link_head head;
	struct error err = { 0 };
	bool is_told = false;
	int more;

	log_name_thread("link");
	strbuf_init(&payload, ANSWER_BYTES_MAX);
	while ((more = link_frame_read(sender->options.fd, &head, &payload, &err)) == 1) {
		if (head.kind == LINK_ANSWER)
			take_answer(sender, &head, strbuf_view(&payload));
		if (head.kind == LINK_STOP && !is_told) {
			is_told = true;
			sender->options.stop();
		}
	}
	if (more < 0)
		log_error("link: %s", err.message);
	pthread_mutex_lock(&sender->mutex);
	sender->is_gone = true;
	pthread_cond_signal(&sender->answered);
	pthread_mutex_unlock(&sender->mutex);
	if (!is_told)
		sender->options.stop();
	return NULL;
}

/* ---- pushes ---- */

/* The status, or 0: too late, or nobody there. */
static uint32_t wait_for_answer(struct link_sender *sender)
{
	const int64_t end = clock_mono_ns() + ANSWER_WAIT_NS;
	const struct timespec until = { .tv_sec = end / NS_PER_S, .tv_nsec = end % NS_PER_S };
	uint32_t status;

	pthread_mutex_lock(&sender->mutex);
	while (sender->status == 0 && !sender->is_gone)
		if (pthread_cond_timedwait(&sender->answered, &sender->mutex, &until) == ETIMEDOUT)
			break;
	status = sender->status;
	pthread_mutex_unlock(&sender->mutex);
	return status;
}

static bool begin(struct link_sender *sender, uint64_t *out_sequence)
{
	bool is_there;

	pthread_mutex_lock(&sender->mutex);
	sender->status = 0;
	*out_sequence = ++sender->asked;
	is_there = !sender->is_gone;
	pthread_mutex_unlock(&sender->mutex);
	return is_there;
}

static enum push_outcome deliver(void *context, struct str request, struct error *err)
{
	struct link_sender *sender = context;
	uint64_t sequence;
	uint32_t status;

	if (!begin(sender, &sequence)) {
		(void)error_set(err, ERROR_UNAVAILABLE, "the server half has ended");
		return PUSH_REFUSED;
	}
	if (write_frame(sender, LINK_PUSH, sequence, request, err) < 0)
		return PUSH_REFUSED; /* the reader sees the end, too */
	status = wait_for_answer(sender);
	if (status == 200)
		return PUSH_DELIVERED;
	(void)error_set(err, ERROR_UNAVAILABLE, "the server half answered %u", status);
	return status == 0 || status == 429 || status >= 500 ? PUSH_RETRY : PUSH_REFUSED;
}

struct push_transport link_sender_transport(struct link_sender *sender)
{
	return (struct push_transport){ .deliver = deliver, .context = sender };
}

void link_sender_metrics(struct link_sender *sender, struct str text)
{
	struct error err = { 0 };

	if (write_frame(sender, LINK_METRICS, 0, text, &err) < 0)
		log_rarely(LOG_WARN, "link: %s", err.message);
}

/* ---- life ---- */

struct link_sender *link_sender_new(const struct link_sender_options *options)
{
	struct link_sender *sender = mem_zalloc(1, sizeof(*sender));
	pthread_condattr_t attributes;

	sender->options = *options;
	pthread_mutex_init(&sender->writing, NULL);
	pthread_mutex_init(&sender->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&sender->answered, &attributes);
	pthread_condattr_destroy(&attributes);
	if (pthread_create(&sender->thread, NULL, run, sender) != 0) {
		log_error("starting the link: the system has no thread left");
		abort();
	}
	return sender;
}

void link_sender_free(struct link_sender *sender)
{
	if (!sender)
		return;
	(void)shutdown(sender->options.fd, SHUT_RDWR);
	pthread_join(sender->thread, NULL);
	close(sender->options.fd);
	pthread_cond_destroy(&sender->answered);
	pthread_mutex_destroy(&sender->mutex);
	pthread_mutex_destroy(&sender->writing);
	free(sender);
}
