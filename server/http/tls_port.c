#include "server/http/tls_port.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/http/event_loop.h"

#define EVENTS_MAX    64
#define TICK_MS       500
#define LOOK_NS       NS_PER_S
#define CLOSING_NS    NS_PER_S
#define CLOSE_POLL_NS (5 * NS_PER_MS)

struct tls_port {
	struct tls_port_options options;
	struct tls_shared shared;
	struct event_loop *loop;
	struct tls_identity *identity;
	struct tls_bridge *first;
	int64_t looked_mono_ns; /* at the certificate's files */
	int64_t ticked_mono_ns;
	bool has_more; /* some bridge has */
	_Atomic bool wants_reload;
	_Atomic size_t open; /* bridges */
};

/* ---- the certificate ---- */

static void load_again(struct tls_port *port)
{
	struct tls_identity *identity = NULL;
	struct error err = { 0 };

	if (tls_identity_load(port->options.certificate_path, port->options.key_path, &identity,
	                      &err) < 0) {
		log_error("reading the certificate again: %s; the one before stays", err.message);
		return;
	}
	tls_identity_drop(port->identity);
	port->identity = identity;
	log_info("the certificate is read again: %s", port->options.certificate_path);
}

static void look_at_files(struct tls_port *port, int64_t now_mono_ns)
{
	if (now_mono_ns - port->looked_mono_ns < LOOK_NS)
		return;
	port->looked_mono_ns = now_mono_ns;
	if (tls_identity_has_changed(port->identity))
		load_again(port);
}

/* ---- the thread ---- */

static void link_bridge(struct tls_port *port, struct tls_bridge *bridge)
{
	bridge->next = port->first;
	if (bridge->next)
		bridge->next->previous = bridge;
	port->first = bridge;
	atomic_fetch_add(&port->open, 1);
}

static void end_bridge(struct tls_port *port, struct tls_bridge *bridge)
{
	if (bridge->previous)
		bridge->previous->next = bridge->next;
	else
		port->first = bridge->next;
	if (bridge->next)
		bridge->next->previous = bridge->previous;
	tls_bridge_close(bridge);
	atomic_fetch_sub(&port->open, 1);
}

static void refuse(struct tls_port *port, struct connection *connection)
{
	const int fd = connection->fd;

	port->options.note(port->options.context, TLS_REFUSED);
	(void)epoll_ctl(connections_epoll_fd(port->options.connections), EPOLL_CTL_DEL, fd, NULL);
	connections_close(port->options.connections, connection);
	(void)close(fd);
}

static void on_arrived(void *context, struct connection *connection)
{
	struct tls_port *port = context;
	const int64_t now_mono_ns = clock_mono_ns();
	struct tls_bridge *bridge = NULL;

	look_at_files(port, now_mono_ns);
	if (port->shared.handshakes < TLS_HANDSHAKES_MAX)
		bridge = tls_bridge_open(&port->shared, port->identity, connection);
	if (!bridge) {
		refuse(port, connection);
		return;
	}
	link_bridge(port, bridge);
	tls_bridge_step(bridge, now_mono_ns);
	port->has_more |= bridge->has_more || bridge->is_over;
}

static void on_finished(void *context, struct exchange *exchange)
{
	(void)context;
	(void)exchange;
}

/* All of them: those that have more, or whose time is over. */
static void visit(struct tls_port *port, int64_t now_mono_ns)
{
	struct tls_bridge *next;

	port->has_more = false;
	for (struct tls_bridge *bridge = port->first; bridge; bridge = next) {
		next = bridge->next;
		if (bridge->has_more || bridge->deadline_mono_ns > 0)
			tls_bridge_step(bridge, now_mono_ns);
		port->has_more |= bridge->has_more;
		if (bridge->is_over)
			end_bridge(port, bridge);
	}
}

/* A socket and its pair may both have an event: who is over is ended after all of them. */
static void run(void *context)
{
	struct tls_port *port = context;
	struct epoll_event events[EVENTS_MAX];
	const int count = epoll_wait(port->shared.epoll_fd, events, EVENTS_MAX, 0);
	const int64_t now_mono_ns = clock_mono_ns();

	if (atomic_exchange(&port->wants_reload, false))
		load_again(port);
	for (int i = 0; i < count; i++) {
		struct tls_bridge *bridge = events[i].data.ptr;

		tls_bridge_step(bridge, now_mono_ns);
		port->has_more |= bridge->has_more || bridge->is_over;
	}
	if (!port->has_more && now_mono_ns - port->ticked_mono_ns < TICK_MS * NS_PER_MS)
		return;
	port->ticked_mono_ns = now_mono_ns;
	visit(port, now_mono_ns);
}

static int wait_ms(void *context)
{
	const struct tls_port *port = context;

	if (port->has_more)
		return 0;
	return port->first ? TICK_MS : -1;
}

/* ---- from other threads ---- */

void tls_port_add(struct tls_port *port, struct connection *connection)
{
	connection_enter(port->options.connections, connection, CONNECTION_HANDSHAKE);
	event_loop_add(port->loop, connection);
}

void tls_port_reload(struct tls_port *port)
{
	atomic_store(&port->wants_reload, true);
	event_loop_wake(port->loop);
}

/* ---- opening ---- */

static int check_paths(const struct tls_port_options *options, struct error *err)
{
	if (options->certificate_path[0] && options->key_path[0])
		return 0;
	return error_set(err, ERROR_INVALID,
	                 "-server.http-tls-cert-path and -server.http-tls-key-path: one is given "
	                 "without the other");
}

int tls_port_open(const struct tls_port_options *options, struct tls_port **out, struct error *err)
{
	struct tls_port *port = mem_zalloc(1, sizeof(*port));

	port->options = *options;
	port->shared = (struct tls_shared){ .connections = options->connections,
		                            .budget = options->budget,
		                            .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
		                            .write_timeout_ns = options->write_timeout_ns,
		                            .note = options->note,
		                            .context = options->context };
	if (port->shared.epoll_fd < 0)
		(void)error_set_errno(err, errno, "making an epoll instance");
	else if (check_paths(options, err) == 0 &&
	         tls_identity_load(options->certificate_path, options->key_path, &port->identity,
	                           err) == 0 &&
	         event_loop_open(&(struct event_loop_options){ .fd = port->shared.epoll_fd,
	                                                       .wait_ms = wait_ms,
	                                                       .run = run,
	                                                       .arrived = on_arrived,
	                                                       .finished = on_finished,
	                                                       .context = port },
	                         &port->loop, err) == 0) {
		*out = port;
		return 0;
	}
	tls_port_close(port);
	return -1;
}

/* What was answered last is on its way still. */
static void wait_for_bridges(struct tls_port *port)
{
	const int64_t deadline_mono_ns = clock_mono_ns() + CLOSING_NS;
	const struct timespec pause = { .tv_nsec = CLOSE_POLL_NS };

	while (atomic_load(&port->open) > 0 && clock_mono_ns() < deadline_mono_ns)
		(void)nanosleep(&pause, NULL);
}

void tls_port_close(struct tls_port *port)
{
	if (!port)
		return;
	if (port->loop)
		wait_for_bridges(port);
	event_loop_close(port->loop);
	while (port->first)
		end_bridge(port, port->first);
	tls_identity_drop(port->identity);
	if (port->shared.epoll_fd >= 0)
		(void)close(port->shared.epoll_fd);
	free(port);
}
