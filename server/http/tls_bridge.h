/*
 * One connection of TLS: bytes between a peer's socket and a pair of sockets, whose other
 * end is served as if there were no TLS.
 *
 * Shape    first it shakes hands, and is in the table of connections with the peer's
 *          socket; then the pair's other end takes that place:
 *
 *            peer <-- TLS --> bridge <-- socket pair --> HTTP/1 or HTTP/2
 *
 *          16 KiB each way are under way at most: who does not read makes the other side
 *          wait. What ends on one side is told the other, TLS's own end included.
 * Threads  the TLS port's.
 */
#pragma once

#include <gnutls/gnutls.h>

#include "base/budget.h"
#include "server/http/connections.h"
#include "server/http/tls_identity.h"

#define TLS_FLOW_BYTES   ((size_t)16 << 10) /* a record's */
#define TLS_BRIDGE_BYTES ((size_t)72 << 10) /* measured: 43 KiB idle; two full flows */

enum tls_outcome {
	TLS_ACCEPTED,
	TLS_FAILED,  /* the peer spoke no TLS that we do, or left */
	TLS_REFUSED, /* too many shake hands at a time, or no memory */
	TLS_OUTCOME_COUNT
};

/* What all bridges share. */
struct tls_shared {
	struct connections *connections;
	struct budget *budget;
	int epoll_fd;
	int64_t write_timeout_ns; /* without a byte, once our side has ended; 0: none */
	size_t handshakes;        /* under way */
	void (*note)(void *context, enum tls_outcome outcome);
	void *context;
};

struct tls_flow {
	unsigned char bytes[TLS_FLOW_BYTES];
	size_t length;
	size_t sent;
};

struct tls_bridge {
	struct tls_shared *shared;
	struct tls_identity *identity;
	gnutls_session_t session;
	struct connection *connection; /* while it shakes hands, else NULL */
	int peer_fd;
	int pair_fd; /* -1 until it has shaken hands */
	bool has_peer_ended;
	bool has_pair_ended;
	bool has_said_end; /* to the peer */
	bool is_broken;
	bool is_over;             /* to be freed */
	bool has_more;            /* it stopped for others to have their turn */
	int64_t deadline_mono_ns; /* 0: none */
	struct tls_bridge *previous;
	struct tls_bridge *next;
	struct tls_flow in;
	struct tls_flow out;
};

/* NULL where there is no memory; the connection is the caller's still. */
struct tls_bridge *tls_bridge_open(struct tls_shared *shared, struct tls_identity *identity,
                                   struct connection *connection);

/* Closes both sides. */
void tls_bridge_close(struct tls_bridge *bridge);

/* Moves what can be moved; may say that it is over. */
void tls_bridge_step(struct tls_bridge *bridge, int64_t now_mono_ns);
