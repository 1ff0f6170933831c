#include "server/push/link_receiver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/app.h"
#include "server/http/exchange.h"
#include "server/http/worker_pool.h"
#include "server/push/link_frame.h"
#include "server/push/push_message.h"
#include "server/routes/route.h"
#include "server/server.h"

#define RESPONSE_BYTES_MAX ((size_t)64 << 10)
#define ARENA_SHARE        2 /* the part of memory.limit that one push may take */
#define WEIGHT_EXPANSION   8 /* a packed push, decoded; a guess */
#define STATUS_BUSY        503
#define OTHER_HALF_SECONDS 15 /* for its last tick */

struct link_receiver {
	int fd;
	struct str tenant;
	struct server *server; /* while it is open */
	struct text_source more_metrics;
	pthread_t thread;
	_Atomic bool is_stopping; /* we have told the other half */

	pthread_mutex_t mutex; /* guards what follows, and writing */
	pthread_cond_t changed;
	size_t running; /* pushes that have no answer yet */
	bool has_ended; /* the reading thread: it may be joined at once */
	struct strbuf metrics;
};

/* One push on its way; its payload lies behind its arena. */
struct link_push {
	struct exchange exchange; /* first: it is what comes back */
	struct link_receiver *receiver;
	uint64_t sequence;
	struct http_header headers[2];
	struct strbuf payload;
};

static void send_frame(struct link_receiver *receiver, enum link_kind kind, uint64_t sequence,
                       struct str payload)
{
	struct error err = { 0 };

	if (link_frame_write(receiver->fd, kind, sequence, payload, &err) < 0)
		log_debug("link: %s", err.message); /* the reader sees the end */
}

static void answer(struct link_receiver *receiver, uint64_t sequence, int status)
{
	const uint32_t wire = (uint32_t)status;

	pthread_mutex_lock(&receiver->mutex);
	send_frame(receiver, LINK_ANSWER, sequence, str_make(&wire, sizeof(wire)));
	pthread_mutex_unlock(&receiver->mutex);
}

/* ---- pushes ---- */

static void finish(struct exchange *exchange)
{
	struct link_push *push = (struct link_push *)exchange;
	struct link_receiver *receiver = push->receiver;

	worker_pool_release(server_pool(receiver->server), exchange->weight);
	answer(receiver, push->sequence, exchange->response.status);
	http_response_fini(&exchange->response);
	strbuf_fini(&push->payload);
	arena_free(exchange->arena);
	free(push);
	pthread_mutex_lock(&receiver->mutex);
	receiver->running--;
	pthread_cond_broadcast(&receiver->changed);
	pthread_mutex_unlock(&receiver->mutex);
}

/* Takes the payload over. */
static struct link_push *make_push(struct link_receiver *receiver, uint64_t sequence,
                                   struct strbuf *payload)
{
	struct app *app = server_app(receiver->server);
	struct link_push *push = mem_zalloc(1, sizeof(*push));

	push->receiver = receiver;
	push->sequence = sequence;
	push->payload = *payload;
	strbuf_init(payload, LINK_BYTES_MAX);
	push->headers[0] = (struct http_header){ STR("Content-Type"), STR(PUSH_MESSAGE_TYPE) };
	push->headers[1] = (struct http_header){ STR("X-Scope-OrgID"), receiver->tenant };
	push->exchange = (struct exchange){
		.app = app,
		.route = route_find(STR(PUSH_MESSAGE_PATH)),
		.arena = arena_new(app->memory.limit / ARENA_SHARE, &app->memory),
		.request = { .method = STR("POST"),
		             .path = STR(PUSH_MESSAGE_PATH),
		             .headers = push->headers,
		             .header_count = receiver->tenant.length > 0 ? 2 : 1,
		             .body = strbuf_view(&push->payload) },
		.start_mono_ns = clock_mono_ns(),
		.weight = push->payload.length * WEIGHT_EXPANSION + 1,
		.finish = finish,
	};
	http_response_init(&push->exchange.response, RESPONSE_BYTES_MAX);
	return push;
}

static void take_push(struct link_receiver *receiver, uint64_t sequence, struct strbuf *payload)
{
	struct worker_pool *pool = server_pool(receiver->server);
	struct link_push *push;

	if (!worker_pool_reserve(pool)) {
		answer(receiver, sequence, STATUS_BUSY);
		return;
	}
	push = make_push(receiver, sequence, payload);
	pthread_mutex_lock(&receiver->mutex);
	receiver->running++;
	pthread_mutex_unlock(&receiver->mutex);
	worker_pool_push(pool, &push->exchange);
}

/* ---- metrics ---- */

static void take_metrics(struct link_receiver *receiver, struct str text)
{
	pthread_mutex_lock(&receiver->mutex);
	strbuf_reset(&receiver->metrics);
	strbuf_add_str(&receiver->metrics, text);
	if (strbuf_overflowed(&receiver->metrics))
		strbuf_reset(&receiver->metrics);
	pthread_mutex_unlock(&receiver->mutex);
}

static void add_metrics(void *context, struct strbuf *out)
{
	struct link_receiver *receiver = context;

	pthread_mutex_lock(&receiver->mutex);
	strbuf_add_str(out, strbuf_view(&receiver->metrics));
	pthread_mutex_unlock(&receiver->mutex);
}

/* ---- the reading thread ---- */

static void *run(void *context)
{
	struct link_receiver *receiver = context;
	CLEANUP(strbuf_fini) struct strbuf payload;
	struct link_head head;
	struct error err = { 0 };
	int more;

	log_name_thread("link");
	strbuf_init(&payload, LINK_BYTES_MAX);
	while ((more = link_frame_read(receiver->fd, &head, &payload, &err)) == 1) {
		if (head.kind == LINK_PUSH)
			take_push(receiver, head.sequence, &payload);
		if (head.kind == LINK_METRICS)
			take_metrics(receiver, strbuf_view(&payload));
	}
	if (more < 0)
		log_error("link: %s", err.message);
	if (!atomic_load(&receiver->is_stopping)) {
		log_info("the collector half has ended; stopping");
		server_process_stop();
	}
	pthread_mutex_lock(&receiver->mutex);
	receiver->has_ended = true;
	pthread_cond_broadcast(&receiver->changed);
	pthread_mutex_unlock(&receiver->mutex);
	return NULL;
}

/* ---- the companion ---- */

static int begin(void *context, struct server *server, struct error *err)
{
	struct link_receiver *receiver = context;
	const uint16_t port = server_port(server);
	int number;

	receiver->server = server;
	number = pthread_create(&receiver->thread, NULL, run, receiver);
	if (number != 0)
		return error_set_errno(err, number, "starting the link");
	receiver->more_metrics = (struct text_source){ add_metrics, receiver };
	atomic_store(&server_app(server)->more_metrics, &receiver->more_metrics);
	pthread_mutex_lock(&receiver->mutex);
	send_frame(receiver, LINK_START, 0, str_make(&port, sizeof(port)));
	pthread_mutex_unlock(&receiver->mutex);
	return 0;
}

/* Whether the reading thread has ended; waits for that some seconds. */
static bool reader_ends(struct link_receiver *receiver)
{
	struct timespec until;
	bool has_ended;
	int status = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += OTHER_HALF_SECONDS;
	pthread_mutex_lock(&receiver->mutex);
	while (!receiver->has_ended && status == 0)
		status = pthread_cond_timedwait(&receiver->changed, &receiver->mutex, &until);
	has_ended = receiver->has_ended;
	pthread_mutex_unlock(&receiver->mutex);
	return has_ended;
}

static void wait_for_reader(struct link_receiver *receiver)
{
	if (!reader_ends(receiver)) {
		log_warn("the collector half does not end; what it still has is lost");
		(void)shutdown(receiver->fd, SHUT_RDWR);
	}
	pthread_join(receiver->thread, NULL);
}

/* Tells the other half, and takes what it still has to say. */
static void end(void *context)
{
	struct link_receiver *receiver = context;

	atomic_store(&receiver->is_stopping, true);
	pthread_mutex_lock(&receiver->mutex);
	send_frame(receiver, LINK_STOP, 0, STR(""));
	pthread_mutex_unlock(&receiver->mutex);
	wait_for_reader(receiver);
	pthread_mutex_lock(&receiver->mutex);
	while (receiver->running > 0)
		pthread_cond_wait(&receiver->changed, &receiver->mutex);
	pthread_mutex_unlock(&receiver->mutex);
}

struct server_companion link_receiver_companion(struct link_receiver *receiver)
{
	return (struct server_companion){ .begin = begin, .end = end, .context = receiver };
}

struct link_receiver *link_receiver_new(int fd, const char *tenant)
{
	struct link_receiver *receiver = mem_zalloc(1, sizeof(*receiver));
	pthread_condattr_t attributes;

	receiver->fd = fd;
	receiver->tenant = str_of(tenant);
	pthread_mutex_init(&receiver->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&receiver->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	strbuf_init(&receiver->metrics, LINK_METRICS_MAX);
	return receiver;
}

void link_receiver_free(struct link_receiver *receiver)
{
	if (!receiver)
		return;
	close(receiver->fd);
	strbuf_fini(&receiver->metrics);
	pthread_cond_destroy(&receiver->changed);
	pthread_mutex_destroy(&receiver->mutex);
	free(receiver);
}
