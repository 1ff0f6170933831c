/*
 * All open connections, their deadlines, and whether somebody still waits at the other
 * end.
 *
 * Shape    a table by file descriptor. A connection is in one phase at a time:
 *
 *            FIRST_BYTES -> HEAD -> BODY -> RUNNING -> SENDING -> IDLE -> HEAD ...
 *                    `-> STREAMS                        `-> DRAINING -> closed
 *                    `-> HANDSHAKE -> closed, and another in FIRST_BYTES
 *
 *          connections_expire() shuts the sockets whose phase took too long; who reads
 *          or writes there sees the end and closes. The table also owns the epoll
 *          instance of the thread that accepts.
 * Units    monotonic nanoseconds.
 * Threads  any; a lock guards the list, phases and deadlines are atomic. A connection is
 *          freed by connections_close() alone, before its descriptor is closed.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "base/cleanup.h"
#include "base/error.h"

enum connection_phase {
	CONNECTION_FIRST_BYTES,
	CONNECTION_HANDSHAKE, /* of TLS; then the end of a socket pair is here in its place */
	CONNECTION_HEAD,
	CONNECTION_BODY,
	CONNECTION_RUNNING,
	CONNECTION_SENDING,
	CONNECTION_IDLE,
	CONNECTION_STREAMS,  /* HTTP/2: it has many requests, whose deadlines its owner keeps */
	CONNECTION_DRAINING, /* refused and closed by us; what still comes is thrown away */
	CONNECTION_PHASE_COUNT
};

#define CONNECTION_PEER_BYTES 32 /* an address of IPv6 fits */

struct connection {
	int fd;
	uint32_t generation; /* tells it from earlier ones of the same fd */
	_Atomic int phase;
	_Atomic int64_t since_mono_ns;             /* it is in that */
	_Atomic int64_t deadline_mono_ns;          /* 0: none */
	_Atomic int64_t half_closed_mono_ns;       /* 0: not */
	_Atomic bool gone;                         /* nobody waits for an answer */
	bool is_charged;                           /* its memory is counted */
	bool is_watched;                           /* the acceptor's */
	bool is_secured;                           /* TLS ends before it: a socket pair's end */
	bool drains;                               /* its owner's: see connections_close() */
	unsigned char peer[CONNECTION_PEER_BYTES]; /* of one that is secured */
	struct connection *previous;
	struct connection *next;
	struct connection *next_arrived; /* the event loop's: on the way to it */
};

/*
 * What one takes at most while it has no request: libmicrohttpd's memory of 64 KiB, and ours.
 */
#define CONNECTION_MEMORY_BYTES ((size_t)72 << 10)

/* The address of a peer whose socket is not this one, or NULL. */
static inline const void *connection_peer(const struct connection *connection)
{
	return connection->is_secured ? connection->peer : NULL;
}

struct connections_options {
	size_t max;                                              /* connections */
	struct budget *budget;                                   /* of their memory; or NULL */
	int64_t timeout_ns[CONNECTION_PHASE_COUNT];              /* 0: none */
	void (*cut)(void *context, enum connection_phase phase); /* one was shut; counts it */
	void *context;
};

struct connections;

int connections_new(const struct connections_options *options, struct connections **out,
                    struct error *err);
void connections_free(struct connections *table);
DEFINE_FREEP(connections)

int connections_epoll_fd(const struct connections *table);

/* Makes the epoll instance readable until the acceptor takes it. */
void connections_wake(struct connections *table);

/*
 * The acceptor's, before it looks at what it may have been woken for: whoever changes that
 * later, and wakes, ends its next wait.
 */
void connections_take_wake(struct connections *table);

/*
 * Whether there is room for one more, and memory. When there is none, closing one wakes
 * the acceptor.
 */
bool connections_have_room(struct connections *table);
size_t connections_count(struct connections *table);

struct connection *connections_open(struct connections *table, int fd, enum connection_phase phase)
	__attribute__((returns_nonnull));

/* The connection of an fd that is open, or NULL. */
struct connection *connections_find(struct connections *table, int fd);

/*
 * What epoll said of a tag. The connection when it is in a phase of the acceptor's own
 * (FIRST_BYTES, DRAINING); else NULL, and a hang-up is noted for whoever works for the
 * peer.
 */
struct connection *connections_take_event(struct connections *table, uint64_t tag, uint32_t events);
uint64_t connection_tag(const struct connection *connection);

/*
 * Forgets a connection; the caller closes its fd afterwards. When it `drains`, a copy
 * of the fd stays open for a second and throws away what comes, so that the peer reads
 * its answer before it hears of a reset.
 */
void connections_close(struct connections *table, struct connection *connection);

/*
 * The same for one whose fd somebody has closed already; nothing when it is forgotten
 * by now.
 */
void connections_forget(struct connections *table, uint64_t tag);

/* How long a phase may take, 0: for ever; and how exactly that is kept. */
int64_t connections_timeout_ns(const struct connections *table, enum connection_phase phase);
int connections_expire_ms(const struct connections *table);

/* For owners that keep deadlines themselves: counts one that passed. */
void connections_note_cut(const struct connections *table, enum connection_phase phase);

/* Enters a phase, and starts its clock. */
void connection_enter(struct connections *table, struct connection *connection,
                      enum connection_phase phase);

/*
 * Asks epoll to tell once when the peer closes, and of `events`. The acceptor's, before
 * it hands the connection on.
 */
bool connection_watch(struct connections *table, struct connection *connection, uint32_t events);

/*
 * Shuts up to `most` of those that have waited for their next request for a second: others
 * wait for a place. Their peers connect anew when they need to.
 */
void connections_shut_unused(struct connections *table, int64_t now_mono_ns, size_t most);

/*
 * Shuts what is overdue. Returns milliseconds until it should be called again, -1: for
 * ever.
 */
int connections_expire(struct connections *table, int64_t now_mono_ns);

/* Shuts the connections that wait for a request, or all of them with `gone` set. */
void connections_shut_idle(struct connections *table);
void connections_shut_all(struct connections *table);
