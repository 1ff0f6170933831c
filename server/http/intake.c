#include "server/http/intake.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "api/grpc.h"
#include "base/clock.h"
#include "base/mem.h"
#include "server/http/arena_pool.h"
#include "server/routes/dispatch.h"
#include "server/routes/route.h"

#define WRITE_WEIGHT    ((size_t)64 << 10)
#define WRITE_EXPANSION 12 /* bytes that a byte of a body becomes; measured: cpu-fleet, gzip */
#define ARENAS_KEPT     64 /* a guess */

struct intake {
	struct app *app;
	struct worker_pool *pool;
	struct arena_pool *arenas;
	_Atomic size_t in_flight;
	_Atomic bool refuses;
};

struct intake *intake_new(struct app *app, struct worker_pool *pool)
{
	struct intake *intake = mem_zalloc(1, sizeof(*intake));

	intake->app = app;
	intake->pool = pool;
	intake->arenas = arena_pool_new(app->memory.limit / 2, &app->memory, ARENAS_KEPT);
	return intake;
}

void intake_free(struct intake *intake)
{
	if (!intake)
		return;
	arena_pool_free(intake->arenas);
	free(intake);
}

struct app *intake_app(const struct intake *intake)
{
	return intake->app;
}

void intake_refuse(struct intake *intake)
{
	atomic_store(&intake->refuses, true);
}

size_t intake_in_flight(struct intake *intake)
{
	return atomic_load(&intake->in_flight);
}

/* ---- a request's life ---- */

/* The response is complete: any thread hands it to its protocol. */
static void finish(struct exchange *exchange)
{
	struct incoming *incoming = (struct incoming *)exchange;

	dispatch_complete(exchange);
	worker_pool_release(incoming->intake->pool, exchange->weight);
	incoming->finish(incoming);
}

/*
 * Who sends is asked while the connection is surely open: a worker may still have a request
 * of one that was closed, and whose descriptor is another one's.
 */
static void keep_peer(struct exchange *exchange, const struct incoming_options *options)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t length = sizeof(peer);

	if (options->peer)
		memcpy(exchange->peer, options->peer, sizeof(exchange->peer));
	else if (options->descriptor > 0 &&
	         getpeername(options->descriptor, (struct sockaddr *)&peer, &length) == 0)
		memcpy(exchange->peer, &peer, sizeof(exchange->peer));
}

void incoming_begin(struct incoming *incoming, struct intake *intake,
                    const struct incoming_options *options)
{
	struct exchange *exchange = &incoming->exchange;

	*incoming = (struct incoming){ .intake = intake,
		                       .budget = options->budget,
		                       .finish = options->finish };
	exchange->app = intake->app;
	exchange->arena = arena_pool_take(intake->arenas);
	exchange->start_mono_ns = clock_mono_ns();
	exchange->cancel.gone = options->gone;
	keep_peer(exchange, options);
	exchange->finish = finish;
	http_response_init(&exchange->response, intake->app->memory.limit / 4);
	body_init(&incoming->body, 0, 0, options->budget);
	/*
	 * in one order with `refuses`: who does not see that is counted when it is
	 * waited for
	 */
	atomic_fetch_add(&intake->in_flight, 1);
}

void incoming_end(struct incoming *incoming)
{
	struct intake *intake = incoming->intake;

	incoming_drop_body(incoming);
	if (incoming->is_counted)
		dispatch_count_end(&incoming->exchange, incoming->request_bytes,
		                   incoming->response_bytes);
	http_response_fini(&incoming->exchange.response);
	arena_pool_give(intake->arenas, incoming->exchange.arena);
	atomic_fetch_sub(&intake->in_flight, 1);
}

void incoming_drop_body(struct incoming *incoming)
{
	incoming->request_bytes += incoming->body.length;
	incoming->exchange.request.body = STR("");
	body_fini(&incoming->body);
}

void incoming_count(struct incoming *incoming)
{
	dispatch_count_begin(&incoming->exchange);
	incoming->is_counted = true;
}

void incoming_refuse_busy(struct incoming *incoming, const char *reason)
{
	dispatch_busy(&incoming->exchange, reason);
	dispatch_complete(&incoming->exchange);
}

/* ---- the head ---- */

bool incoming_check_head(struct incoming *incoming, enum head_version version)
{
	const struct http_request *request = &incoming->exchange.request;
	const char *reason = "";
	const int status = head_check(version, request->headers, request->header_count,
	                              &incoming->head, &reason);

	if (status != 0)
		dispatch_malformed(&incoming->exchange, status, reason);
	return status == 0;
}

static bool find_route(struct exchange *exchange, struct str target)
{
	struct str path;
	struct str query;

	if (head_split_target(target, &path, &query))
		return dispatch_begin(exchange, path, query);
	dispatch_malformed(exchange, 400, "malformed request target");
	return false;
}

bool incoming_route(struct incoming *incoming, struct str target)
{
	struct exchange *exchange = &incoming->exchange;
	const uint64_t announced = incoming->head.content_length;
	size_t limit;

	if (!find_route(exchange, target)) {
		dispatch_complete(exchange);
		return false;
	}
	limit = dispatch_body_limit(exchange);
	if (announced > limit) {
		dispatch_too_large(exchange, announced);
		dispatch_complete(exchange);
		return false;
	}
	body_init(&incoming->body, limit, (size_t)announced, incoming->budget);
	return true;
}

/* ---- the body ---- */

/*
 * A gRPC message says at its beginning how long it is: senders give no Content-Length.
 * False: longer than it may be.
 */
static bool take_announcement(struct incoming *incoming, const void *data, size_t length)
{
	struct body *body = &incoming->body;
	const struct str begun = body->length > 0 ? body_view(body) : str_make(data, length);

	if (body->announced > 0)
		return true;
	incoming->announced = dispatch_announced(&incoming->exchange, begun);
	if (incoming->announced > body->limit)
		return false;
	body->announced = (size_t)incoming->announced;
	return true;
}

static void refuse_body(struct incoming *incoming)
{
	const uint64_t message = incoming->announced > GRPC_PREFIX_LENGTH
	                                 ? incoming->announced - GRPC_PREFIX_LENGTH
	                                 : 0;

	if (incoming->body.starved)
		dispatch_busy(&incoming->exchange, "memory");
	else
		dispatch_too_large(&incoming->exchange,
		                   message > 0 ? message : incoming->head.content_length);
	dispatch_complete(&incoming->exchange);
}

bool incoming_add(struct incoming *incoming, const void *data, size_t length)
{
	if (take_announcement(incoming, data, length) && body_add(&incoming->body, data, length))
		return true;
	refuse_body(incoming);
	return false;
}

static bool run_inline(struct exchange *exchange)
{
	(void)exchange->route->handler(exchange);
	dispatch_complete(exchange);
	return false;
}

bool incoming_submit(struct incoming *incoming)
{
	struct exchange *exchange = &incoming->exchange;
	struct intake *intake = incoming->intake;

	exchange->request.body = body_view(&incoming->body);
	if (exchange->route->flags & ROUTE_INLINE)
		return run_inline(exchange);
	if (atomic_load(&intake->refuses)) {
		incoming_refuse_busy(incoming, "stopping");
		return false;
	}
	if (!worker_pool_reserve(intake->pool)) {
		incoming_refuse_busy(incoming, "queue");
		return false;
	}
	if (exchange->route->flags & ROUTE_WRITE) {
		exchange->cancel.gone = NULL; /* writes always finish */
		exchange->weight = WRITE_WEIGHT + exchange->request.body.length * WRITE_EXPANSION;
	}
	worker_pool_push(intake->pool, exchange);
	return true;
}
