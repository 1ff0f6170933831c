#include "server/http/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/http/preface.h"

#define SOCKETS_MAX 8
#define BACKLOG     1024
#define EVENTS_MAX  64
#define ACCEPTS_MAX 64  /* in a row, before others have their turn; a guess */
#define FULL_MS     100 /* how long to wait when the process has no descriptor left; a guess */

struct listener {
	struct listener_options options;
	int sockets[SOCKETS_MAX];
	size_t socket_count;
	uint16_t port;
	pthread_t thread;
	_Atomic bool is_stopping; /* accept no more */
	_Atomic bool is_closing;  /* end the thread */
	bool is_listening;        /* the thread's: the sockets are in the epoll instance */
};

/* ---- binding ---- */

static uint16_t bound_port(int fd)
{
	struct sockaddr_in6 address = { 0 };
	socklen_t length = sizeof(address);

	_Static_assert(offsetof(struct sockaddr_in, sin_port) ==
	                       offsetof(struct sockaddr_in6, sin6_port),
	               "both families have their port in one place");
	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		return 0;
	return ntohs(address.sin6_port);
}

static void set_port(struct sockaddr *address, uint16_t port)
{
	if (address->sa_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)address)->sin_port = htons(port);
}

/*
 * A listening socket, or -1 with errno. IPv6 sockets take IPv6 only: each address has
 * its own.
 */
static int bind_one(const struct addrinfo *info, uint16_t port)
{
	const int yes = 1;
	const int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int number;

	if (fd < 0)
		return -1;
	set_port(info->ai_addr, port);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (info->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	number = errno;
	(void)close(fd);
	errno = number;
	return -1;
}

static int bind_all(struct listener *listener, const struct addrinfo *infos)
{
	int number = 0;

	for (const struct addrinfo *info = infos; info && listener->socket_count < SOCKETS_MAX;
	     info = info->ai_next) {
		const int fd = bind_one(info, listener->port);

		if (fd < 0) {
			/* every address: a machine without IPv6 is fine */
			number = number && errno == EAFNOSUPPORT ? number : errno;
			continue;
		}
		listener->sockets[listener->socket_count++] = fd;
		listener->port = bound_port(fd); /* the others get the same */
	}
	errno = number;
	return listener->socket_count > 0 &&
	                       (number == 0 || number == EAFNOSUPPORT || number == EADDRNOTAVAIL)
	               ? 0
	               : -1;
}

static int bind_address(struct listener *listener, struct error *err)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		                        .ai_socktype = SOCK_STREAM };
	const char *name = listener->options.address[0] ? listener->options.address : NULL;
	struct addrinfo *infos = NULL;
	int status = getaddrinfo(name, "0", &hints, &infos);

	if (status != 0)
		return error_set(err, ERROR_INVALID, "-server.http-listen-address=%s: %s",
		                 name ? name : "", gai_strerror(status));
	status = bind_all(listener, infos);
	if (status < 0 && errno == EADDRINUSE)
		(void)error_set(err, ERROR_IO,
		                "another program listens on port %u of %s; "
		                "-server.http-listen-port=PORT takes another one",
		                listener->options.port, name ? name : "*");
	else if (status < 0)
		(void)error_set_errno(err, errno,
		                      "listening on %s port %u (-server.http-listen-address, "
		                      "-server.http-listen-port)",
		                      name ? name : "*", listener->options.port);
	freeaddrinfo(infos);
	return status;
}

static void close_sockets(struct listener *listener)
{
	for (size_t i = 0; i < listener->socket_count; i++)
		(void)close(listener->sockets[i]);
	listener->socket_count = 0;
}

/* ---- connections before they have a protocol ---- */

static void drop(struct listener *listener, struct connection *connection)
{
	const int fd = connection->fd;

	/* the copy of a refused one may still be open elsewhere */
	(void)epoll_ctl(connections_epoll_fd(listener->options.connections), EPOLL_CTL_DEL, fd,
	                NULL);
	connections_close(listener->options.connections, connection);
	(void)close(fd);
}

static void drain(struct listener *listener, struct connection *connection)
{
	char bytes[16 << 10];

	for (int i = 0; i < 16; i++) {
		const ssize_t count = recv(connection->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		const bool is_late = atomic_load_explicit(&connection->gone, memory_order_relaxed);

		if (count < 0 && (errno == EAGAIN || errno == EINTR) && !is_late)
			return;
		if (count <= 0 || is_late) {
			drop(listener, connection);
			return;
		}
	}
}

static void hand_on(struct listener *listener, struct connection *connection, enum preface preface)
{
	if (!connection_watch(listener->options.connections, connection, 0))
		drop(listener, connection);
	else if (preface == PREFACE_HTTP2)
		http2_add(listener->options.http2, connection);
	else
		http1_add(listener->options.http1, connection);
}

/* Edge-triggered: told once of each change, so that half a preface does not spin. */
static bool wait_for_more(struct listener *listener, struct connection *connection)
{
	return connection->is_watched ||
	       connection_watch(listener->options.connections, connection, EPOLLIN);
}

/* Plain HTTP, or noise, where TLS is expected: it is told so in words. */
static void refuse_plain(struct listener *listener, struct connection *connection)
{
	static const char answer[] = "HTTP/1.1 400 Bad Request\r\n"
				     "Content-Type: text/plain; charset=utf-8\r\n"
				     "Content-Length: 52\r\n"
				     "Connection: close\r\n\r\n"
				     "this port speaks TLS: an address begins with https:\n";

	(void)send(connection->fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	connection->drains = true;
	drop(listener, connection);
}

/* True: a connection in the clear, to be looked at further. */
static bool is_clear(struct listener *listener, struct connection *connection, bool is_closed)
{
	unsigned char byte = 0;
	ssize_t count;

	if (!listener->options.tls || connection->is_secured)
		return true;
	count = recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (is_closed || !wait_for_more(listener, connection))
			drop(listener, connection);
	} else if (count <= 0) {
		drop(listener, connection);
	} else if (byte != TLS_FIRST_BYTE) {
		refuse_plain(listener, connection);
	} else {
		tls_port_add(listener->options.tls, connection);
	}
	return false;
}

static void look(struct listener *listener, struct connection *connection, bool is_closed)
{
	char bytes[PREFACE_LENGTH];
	enum preface preface;
	ssize_t count;

	if (!is_clear(listener, connection, is_closed))
		return;
	count = recv(connection->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
		drop(listener, connection);
		return;
	}
	preface = count < 0 ? PREFACE_UNDECIDED : preface_of(str_make(bytes, (size_t)count));
	if (preface != PREFACE_UNDECIDED)
		hand_on(listener, connection, preface);
	else if (is_closed || !wait_for_more(listener, connection))
		drop(listener, connection);
}

/* ---- the thread ---- */

/* False when the process has no descriptor left. */
static bool accept_some(struct listener *listener, int socket_fd)
{
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		const int yes = 1;
		const int fd = accept4(socket_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
			       errno != ENOMEM;
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		look(listener,
		     connections_open(listener->options.connections, fd, CONNECTION_FIRST_BYTES),
		     false);
		if (!connections_have_room(listener->options.connections))
			return true;
	}
	return true;
}

static void listen_or_pause(struct listener *listener, bool listens)
{
	const int epoll_fd = connections_epoll_fd(listener->options.connections);

	if (listens == listener->is_listening)
		return;
	listener->is_listening = listens;
	for (size_t i = 0; i < listener->socket_count; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		event.data.u64 = (uint32_t)listener->sockets[i];
		(void)epoll_ctl(epoll_fd, listens ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
		                listener->sockets[i], &event);
	}
}

/* Whether somebody has connected whom we do not accept for want of room. */
static bool somebody_waits(const struct listener *listener)
{
	struct pollfd ports[SOCKETS_MAX];

	for (size_t i = 0; i < listener->socket_count; i++)
		ports[i] = (struct pollfd){ .fd = listener->sockets[i], .events = POLLIN };
	return poll(ports, listener->socket_count, 0) > 0;
}

static void make_room(const struct listener *listener)
{
	struct connections *connections = listener->options.connections;

	if (somebody_waits(listener))
		connections_shut_unused(connections, clock_mono_ns(),
		                        connections_count(connections) / 4 + 1);
}

static bool is_listening_socket(const struct listener *listener, uint64_t tag)
{
	for (size_t i = 0; i < listener->socket_count; i++)
		if (tag == (uint32_t)listener->sockets[i])
			return true;
	return false;
}

static void handle(struct listener *listener, const struct epoll_event *event, bool *is_full)
{
	struct connection *connection;

	if (event->data.u64 >> 32 == 0) {
		if (listener->is_listening && is_listening_socket(listener, event->data.u64) &&
		    !accept_some(listener, (int)event->data.u64))
			*is_full = true;
		return;
	}
	connection = connections_take_event(listener->options.connections, event->data.u64,
	                                    event->events);
	if (!connection)
		return;
	if (atomic_load_explicit(&connection->phase, memory_order_relaxed) == CONNECTION_DRAINING)
		drain(listener, connection);
	else
		look(listener, connection,
		     (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
}

/* Owns the ports and connections without a protocol; ends when it is told to. */
static void *run(void *argument)
{
	struct listener *listener = argument;
	struct connections *connections = listener->options.connections;
	struct epoll_event events[EVENTS_MAX];
	bool is_full = false;

	log_name_thread("listener");
	for (;;) {
		bool has_room;
		bool stops;
		int timeout_ms;
		int count;

		connections_take_wake(connections); /* first: see there */
		if (atomic_load(&listener->is_closing))
			break;
		stops = atomic_load(&listener->is_stopping);
		timeout_ms = connections_expire(connections, clock_mono_ns());
		if (is_full) {
			log_rarely(LOG_WARN, "no file descriptor is left; accepting pauses");
			timeout_ms = FULL_MS;
		}
		has_room = connections_have_room(connections) && !is_full;
		listen_or_pause(listener, has_room && !stops);
		if (stops)
			close_sockets(listener);
		else if (!has_room)
			make_room(listener);
		count = epoll_wait(connections_epoll_fd(connections), events, EVENTS_MAX,
		                   timeout_ms);
		is_full = false;
		for (int i = 0; i < count; i++)
			handle(listener, &events[i], &is_full);
	}
	listen_or_pause(listener, false);
	close_sockets(listener);
	return NULL;
}

int listener_open(const struct listener_options *options, struct listener **out, struct error *err)
{
	CLEANUP(mem_freep) struct listener *listener = mem_zalloc(1, sizeof(*listener));

	listener->options = *options;
	listener->port = options->port;
	if (bind_address(listener, err) < 0) {
		close_sockets(listener);
		return -1;
	}
	if (pthread_create(&listener->thread, NULL, run, listener) != 0) {
		close_sockets(listener);
		return error_set(err, ERROR_IO, "starting the listener's thread");
	}
	*out = TAKE(listener);
	return 0;
}

void listener_stop(struct listener *listener)
{
	atomic_store(&listener->is_stopping, true);
	connections_wake(listener->options.connections);
}

void listener_close(struct listener *listener)
{
	if (!listener)
		return;
	atomic_store(&listener->is_closing, true);
	connections_wake(listener->options.connections);
	(void)pthread_join(listener->thread, NULL);
	free(listener);
}

uint16_t listener_port(const struct listener *listener)
{
	return listener->port;
}
