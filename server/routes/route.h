/*
 * The table of routes: server/routes/routes.def.
 *
 * Shape    ROUTE(method, path, handler, role, flags): exact paths, but for ROUTE_BELOW and
 *          ROUTE_FOLDER. One list; the dispatcher, who asks for credentials,
 *          the handlers' declarations (server/routes/handlers.h) and the metrics' route
 *          labels are made from it. The body of a ROUTE_WRITE may be as large as
 *          -distributor.ingestion-body-limit-mb, of others ROUTE_BODY_MAX. What is
 *          larger is answered before the handler.
 * Source   read specification, section 0; ingest specification, 1.1
 */
#pragma once

#include "server/guard/role.h"
#include "server/http/exchange.h"

#define ROUTE_BODY_MAX ((size_t)16 << 20) /* read specification, 2.7 */

enum route_flag {
	/* needs a tenant: refused before the handler with the plain 401 */
	ROUTE_TENANT = 1 << 0,
	/* the handler begins with rpc_accept(), which does the tenant too */
	ROUTE_CONNECT = 1 << 1,
	/*
	 * several tenants are refused as for a write; the client's going does not matter
	 */
	ROUTE_WRITE = 1 << 2,
	ROUTE_ANY_METHOD = 1 << 3,
	/* cheap: answered on the event thread, even when the queue is full */
	ROUTE_INLINE = 1 << 4,
	/* other methods get 501, as from the reference's gateway */
	ROUTE_GATEWAY = 1 << 5,
	/* rpc_accept() asks for no tenant: version.v1, health */
	ROUTE_NO_TENANT = 1 << 6,
	/* the path is one that begins so, and goes on: what is behind it is a name */
	ROUTE_BELOW = 1 << 7,
	/* calls of gRPC and gRPC-Web too, by their content type; so are those of Connect */
	ROUTE_GRPC = 1 << 8,
	/* the path ends with '/': it, without that too, and everything below it */
	ROUTE_FOLDER = 1 << 9,
};

typedef enum exchange_state (*route_handler)(struct exchange *exchange);

struct route {
	const char *method; /* others get 405 */
	const char *path;
	route_handler handler;
	unsigned role; /* that whoever asks must have: one of enum role */
	unsigned flags;
	/* for metrics: the path in lower case, runs of other characters as '_'; each once */
	const char *label;
};

/* The route of a path, or NULL. */
const struct route *route_find(struct str path);

size_t route_count(void);
const struct route *route_at(size_t index);
