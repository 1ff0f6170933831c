/*
 * The table of routes: server/routes.def.
 *
 * Shape    ROUTE(method, path, handler, flags, body_limit): exact paths. One list; the dispatcher, the metrics' route labels and docs/api/routes.md
 *          are made from it.
 * Source   read specification, section 0; ingest specification, 1.1
 */
#pragma once

#include "server/exchange.h"

enum route_flag {
	ROUTE_TENANT =
		1
		<< 0, /* needs a tenant: refused before the handler with the plain 401 (route without CONNECT) */
	ROUTE_CONNECT =
		1
		<< 1, /* the handler does method, type and tenant itself, in Connect's order: server/rpc.h */
	ROUTE_WRITE =
		1
		<< 2, /* several tenants are refused as for a write; the body may be as large as the ingest limit */
	ROUTE_ANY_METHOD = 1 << 3,
	ROUTE_INLINE =
		1 << 4, /* cheap: answered even when the queue is full (ready, healthz, metrics) */
};

typedef enum exchange_state (*route_handler)(struct exchange *exchange);

struct route {
	const char *method; /* others get 405 */
	const char *path;
	route_handler handler;
	unsigned flags;
	const char
		*label; /* for metrics: the path in lower case, runs of other characters as '_' */
};

/* The route of an exact path, or NULL. */
const struct route *route_find(struct str path);

size_t route_count(void);
const struct route *route_at(size_t index);
