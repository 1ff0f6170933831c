/*
 * A thread that moves the bytes of some connections: libmicrohttpd inside a loop of our
 * own.
 *
 * Shape    connections arrive and responses finish in other threads; both are handed
 *          over in lists, and the loop's thread alone calls the library. The library's
 *          own epoll thread is not used: when just as many connections are ready as it
 *          asks the kernel for at a time (128), version 0.9.75 asks again, without end,
 *          before it serves them.
 * Threads  event_loop_add() and event_loop_finish() from any thread; callbacks run in the
 *          loop's.
 */
#pragma once

#include <microhttpd.h>

#include "base/error.h"
#include "server/http/connections.h"
#include "server/http/exchange.h"

struct event_loop_options {
	/* started with MHD_USE_EPOLL and without a thread; not closed by the loop */
	struct MHD_Daemon *daemon;
	void (*arrived)(void *context, struct connection *connection);
	void (*finished)(void *context, struct exchange *exchange);
	void *context;
};

struct event_loop;

int event_loop_open(const struct event_loop_options *options, struct event_loop **out,
                    struct error *err);

/* Ends the thread; what has arrived until then was taken over. NULL is fine. */
void event_loop_close(struct event_loop *loop);

void event_loop_add(struct event_loop *loop, struct connection *connection);
void event_loop_finish(struct event_loop *loop, struct exchange *exchange);
