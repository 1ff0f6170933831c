/*
 * A thread that moves the bytes of some connections, for a protocol that says how.
 *
 * Shape    connections arrive and responses finish in other threads; both are handed
 *          over in lists, and the loop's thread alone calls the protocol: `arrived`,
 *          `finished`, then `run`, whenever `fd` is readable, something was handed over or
 *          `wait_ms` have passed. libmicrohttpd's own epoll thread is not used: when just
 *          as many connections are ready as it asks the kernel for at a time (128),
 *          version 0.9.75 asks again, without end, before it serves them.
 * Threads  event_loop_add(), event_loop_finish() and event_loop_wake() from any thread;
 *          callbacks run in the loop's.
 */
#pragma once

#include "base/error.h"
#include "server/http/connections.h"
#include "server/http/exchange.h"

struct event_loop_options {
	int fd;                        /* an epoll instance; not closed by the loop */
	int (*wait_ms)(void *context); /* -1: for ever */
	void (*run)(void *context);
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

/* Makes it run once more. */
void event_loop_wake(struct event_loop *loop);
