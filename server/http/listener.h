/*
 * The open port: accepts, looks at the first bytes, and hands connections to the
 * protocol that they speak.
 *
 * Shape    one thread. It peeks edge-triggered, so that half a preface costs nothing,
 *          shuts what is overdue, notices peers that hang up, and empties what was
 *          refused. While there is no room, connections wait in the kernel's queue.
 * Errors   ERROR_IO when an address cannot be bound, naming it.
 * Threads  one of its own.
 * Source   architecture, section 5; ingest specification, 1.2
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "server/http/connections.h"
#include "server/http/http1.h"
#include "server/http/http2.h"
#include "server/http/tls_port.h"

struct listener;

struct listener_options {
	const char *address; /* IPv4, IPv6, a name, or empty: every address */
	uint16_t port;       /* 0: a free one */
	struct connections *connections;
	struct http1 *http1;
	struct http2 *http2;
	struct tls_port *tls; /* NULL: none, everybody speaks plainly */
};

/* Binds and starts to accept. */
int listener_open(const struct listener_options *options, struct listener **out, struct error *err);

/*
 * Accepts nothing more and closes the port; what was accepted goes on, deadlines are
 * kept.
 */
void listener_stop(struct listener *listener);

/* Ends the thread. NULL is fine. */
void listener_close(struct listener *listener);

uint16_t listener_port(const struct listener *listener);
