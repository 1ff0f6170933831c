/*
 * Requests of every version of HTTP on their way to a handler: what is the same for all.
 *
 * Shape    a protocol embeds a `struct incoming` and takes it through its steps; wherever
 *          one of them says that the request is answered, its response is complete:
 *
 *            begin -> route -> add ... -> submit -> (a worker, finish) -> end
 *               `------`--------`---------`-> answered
 *
 *          The protocol reads bytes, and sends the response.
 * Units    bodies count in a budget, responses do not.
 * Threads  an incoming belongs to its event thread but for the time between submit and
 *          the protocol's `finish`. The intake itself is for any thread.
 * Source   architecture, section 5
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/cleanup.h"
#include "server/app.h"
#include "server/http/body.h"
#include "server/http/exchange.h"
#include "server/http/head_check.h"
#include "server/http/worker_pool.h"

struct intake;

struct intake *intake_new(struct app *app, struct worker_pool *pool)
	__attribute__((returns_nonnull));

/* No request may be left. NULL is fine. */
void intake_free(struct intake *intake);
DEFINE_FREEP(intake)

struct app *intake_app(const struct intake *intake);

/* From now on requests that need a worker are answered 503. */
void intake_refuse(struct intake *intake);

/* Requests that have begun and not ended. */
size_t intake_in_flight(struct intake *intake);

struct incoming {
	struct exchange exchange; /* first: the pool hands exchanges on */
	struct intake *intake;
	struct head head;
	struct body body;
	struct budget *budget;
	void (*finish)(struct incoming *incoming);
	uint64_t announced;    /* by the frame that the body begins with */
	size_t request_bytes;  /* for the metrics: of the body that was dropped */
	size_t response_bytes; /* for the metrics: the protocol's */
	bool is_counted;
};

struct incoming_options {
	struct budget *budget;    /* that its body counts in */
	const _Atomic bool *gone; /* nobody waits for the answer */
	int descriptor;           /* of its connection, asked now and never again; 0: none */
	const void *peer; /* EXCHANGE_PEER_BYTES of address, in the place of asking; or NULL */
	/* The response is complete; called by a worker or by whoever ends the exchange. */
	void (*finish)(struct incoming *incoming);
};

/* The first that is known of a request. */
void incoming_begin(struct incoming *incoming, struct intake *intake,
                    const struct incoming_options *options);

/* Counts the request, and gives back what it had. */
void incoming_end(struct incoming *incoming);

/*
 * The head is read: request.method and headers are there. False: it is not what it should
 * be, and is answered.
 */
bool incoming_check_head(struct incoming *incoming, enum head_version version);

/* Route, method, tenant and announced length of a checked head. False: answered. */
bool incoming_route(struct incoming *incoming, struct str target);

/* Counts the request as one in flight: once, when it is routed or refused. */
void incoming_count(struct incoming *incoming);

/* More of the body. False: answered. */
bool incoming_add(struct incoming *incoming, const void *data, size_t length);

/* The body is whole. True: a worker has it, and `finish` will be called; false: answered. */
bool incoming_submit(struct incoming *incoming);

/* Gives the body's memory back: its request is answered, and what comes is thrown away. */
void incoming_drop_body(struct incoming *incoming);

/* Answers that there is no room for the request, or for the response of one that only reads. */
void incoming_refuse_busy(struct incoming *incoming, const char *reason);
