/*
 * The profile store on its port: what `server` and `run` start and stop.
 *
 *	open store -> workers -> event threads -> listener -> announce
 *	close: stop accepting -> wait for requests in flight -> workers end -> store commits
 *
 * Errors   of opening: those of the store, and ERROR_IO of the port.
 * Threads  one opens, announces and closes. Signals are blocked before it opens, so that
 *          its threads inherit that.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct app;
struct options;
struct worker_pool;

struct server;

/* `options` must outlive the server. */
int server_open(const struct options *options, struct server **out, struct error *err);

/* Reads its certificate again. */
void server_reload(const struct server *server);

/*
 * Says where it listens: in the log, to the service manager and in
 * -server.http-port-file.
 */
int server_announce(const struct server *server, struct error *err);

/* Where it listens. */
uint16_t server_port(const struct server *server);

struct app *server_app(const struct server *server);
struct worker_pool *server_pool(const struct server *server);

/*
 * Answers what is in flight, within -server.graceful-shutdown-timeout, and commits what
 * was taken in. A request that will not end at all ends the program with status 1. NULL
 * is fine.
 */
void server_close(struct server *server);
