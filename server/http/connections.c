#include "server/http/connections.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define HALF_CLOSED_GRACE_NS NS_PER_S /* architecture, section 5 */
#define UNUSED_NS            NS_PER_S /* a guess */
#define EXPIRE_MS_MIN        10
#define EXPIRE_MS_MAX        1000

struct connections {
	struct connections_options options;
	int epoll_fd;
	int wake_fd;
	int expire_ms; /* how exactly deadlines are kept */

	pthread_mutex_t lock; /* guards everything below */
	struct connection *first;
	struct connection **by_fd;
	size_t fd_capacity;
	size_t count;
	uint32_t generation;
	bool wants_room;
};

/* A quarter of the shortest deadline, within bounds. */
static int expire_ms(const struct connections_options *options)
{
	int64_t shortest_ns = EXPIRE_MS_MAX * 4 * NS_PER_MS;

	for (size_t i = 0; i < CONNECTION_PHASE_COUNT; i++)
		if (options->timeout_ns[i] > 0 && options->timeout_ns[i] < shortest_ns)
			shortest_ns = options->timeout_ns[i];
	shortest_ns /= 4 * NS_PER_MS;
	return shortest_ns < EXPIRE_MS_MIN ? EXPIRE_MS_MIN : (int)shortest_ns;
}

int connections_new(const struct connections_options *options, struct connections **out,
                    struct error *err)
{
	CLEANUP(connections_freep) struct connections *table = mem_zalloc(1, sizeof(*table));
	struct epoll_event event = { .events = EPOLLIN };

	table->options = *options;
	table->expire_ms = expire_ms(options);
	(void)pthread_mutex_init(&table->lock, NULL);
	table->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	table->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (table->wake_fd < 0 || table->epoll_fd < 0)
		return error_set_errno(err, errno, "making an epoll instance");
	event.data.u64 = (uint32_t)table->wake_fd;
	if (epoll_ctl(table->epoll_fd, EPOLL_CTL_ADD, table->wake_fd, &event) < 0)
		return error_set_errno(err, errno, "watching an eventfd");
	*out = TAKE(table);
	return 0;
}

static void uncharge(const struct connections *table, const struct connection *connection)
{
	if (connection->is_charged)
		budget_give(table->options.budget, CONNECTION_MEMORY_BYTES);
}

void connections_free(struct connections *table)
{
	if (!table)
		return;
	while (table->first) { /* the acceptor's own; others are closed by their owners */
		struct connection *connection = table->first;

		table->first = connection->next;
		uncharge(table, connection);
		(void)close(connection->fd);
		free(connection);
	}
	free(table->by_fd);
	if (table->epoll_fd >= 0)
		(void)close(table->epoll_fd);
	if (table->wake_fd >= 0)
		(void)close(table->wake_fd);
	(void)pthread_mutex_destroy(&table->lock);
	free(table);
}

int connections_epoll_fd(const struct connections *table)
{
	return table->epoll_fd;
}

void connections_wake(struct connections *table)
{
	(void)eventfd_write(table->wake_fd, 1);
}

void connections_take_wake(struct connections *table)
{
	eventfd_t ignored;

	(void)eventfd_read(table->wake_fd, &ignored);
}

static bool has_memory(const struct connections *table)
{
	struct budget *budget = table->options.budget;

	if (!budget)
		return true;
	if (!budget_take(budget, CONNECTION_MEMORY_BYTES))
		return false;
	budget_give(budget, CONNECTION_MEMORY_BYTES);
	return true;
}

bool connections_have_room(struct connections *table)
{
	bool has_room;

	(void)pthread_mutex_lock(&table->lock);
	has_room = table->count < table->options.max && has_memory(table);
	table->wants_room = !has_room;
	(void)pthread_mutex_unlock(&table->lock);
	return has_room;
}

size_t connections_count(struct connections *table)
{
	size_t count;

	(void)pthread_mutex_lock(&table->lock);
	count = table->count;
	(void)pthread_mutex_unlock(&table->lock);
	return count;
}

/* ---- the table ---- */

/*
 * Nothing more comes from a peer that has closed its half: what it owes is not waited
 * for.
 */
static bool waits_for_peer(enum connection_phase phase)
{
	return phase == CONNECTION_FIRST_BYTES || phase == CONNECTION_HEAD ||
	       phase == CONNECTION_BODY || phase == CONNECTION_IDLE;
}

static void start_clock(const struct connections *table, struct connection *connection,
                        enum connection_phase phase)
{
	const int64_t now = clock_mono_ns();
	int64_t timeout_ns = table->options.timeout_ns[phase];

	if (waits_for_peer(phase) &&
	    atomic_load_explicit(&connection->half_closed_mono_ns, memory_order_relaxed) > 0)
		timeout_ns = HALF_CLOSED_GRACE_NS;

	atomic_store_explicit(&connection->since_mono_ns, now, memory_order_relaxed);
	atomic_store_explicit(&connection->deadline_mono_ns, timeout_ns > 0 ? now + timeout_ns : 0,
	                      memory_order_relaxed);
	atomic_store_explicit(&connection->phase, phase, memory_order_relaxed);
}

static void unlink_locked(struct connections *table, struct connection *connection)
{
	uncharge(table, connection);
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		table->first = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	table->by_fd[connection->fd] = NULL;
	table->count--;
}

static void link_locked(struct connections *table, struct connection *connection)
{
	const size_t fd = (size_t)connection->fd;

	if (fd >= table->fd_capacity) {
		const size_t capacity = fd * 2 + 64;

		table->by_fd = mem_resize(table->by_fd, capacity, sizeof(*table->by_fd));
		for (size_t i = table->fd_capacity; i < capacity; i++)
			table->by_fd[i] = NULL;
		table->fd_capacity = capacity;
	}
	if (table->by_fd[fd]) { /* its owner closed the fd without a word */
		struct connection *stale = table->by_fd[fd];

		unlink_locked(table, stale);
		free(stale);
	}
	connection->generation = ++table->generation ? table->generation : ++table->generation;
	connection->next = table->first;
	if (table->first)
		table->first->previous = connection;
	table->first = connection;
	table->by_fd[fd] = connection;
	table->count++;
}

struct connection *connections_open(struct connections *table, int fd, enum connection_phase phase)
{
	struct connection *connection = mem_zalloc(1, sizeof(*connection));

	connection->fd = fd;
	connection->is_charged = table->options.budget &&
	                         budget_take(table->options.budget, CONNECTION_MEMORY_BYTES);
	start_clock(table, connection, phase);
	(void)pthread_mutex_lock(&table->lock);
	link_locked(table, connection);
	(void)pthread_mutex_unlock(&table->lock);
	return connection;
}

static struct connection *find_locked(const struct connections *table, int fd)
{
	return fd >= 0 && (size_t)fd < table->fd_capacity ? table->by_fd[fd] : NULL;
}

struct connection *connections_find(struct connections *table, int fd)
{
	struct connection *connection;

	(void)pthread_mutex_lock(&table->lock);
	connection = find_locked(table, fd);
	(void)pthread_mutex_unlock(&table->lock);
	return connection;
}

uint64_t connection_tag(const struct connection *connection)
{
	return (uint64_t)connection->generation << 32 | (uint32_t)connection->fd;
}

static void note_hang_up(const struct connections *table, struct connection *connection,
                         uint32_t events)
{
	const enum connection_phase phase = (enum connection_phase)atomic_load_explicit(
		&connection->phase, memory_order_relaxed);

	if (events & (EPOLLHUP | EPOLLERR))
		atomic_store_explicit(&connection->gone, true, memory_order_relaxed);
	if (!(events & EPOLLRDHUP))
		return;
	atomic_store_explicit(&connection->half_closed_mono_ns, clock_mono_ns(),
	                      memory_order_relaxed);
	/* what was sent before is still read; the next phase starts its own clock */
	if (waits_for_peer(phase))
		start_clock(table, connection, phase);
}

struct connection *connections_take_event(struct connections *table, uint64_t tag, uint32_t events)
{
	struct connection *connection;

	(void)pthread_mutex_lock(&table->lock);
	connection = find_locked(table, (int)(tag & INT32_MAX));
	if (connection && connection_tag(connection) != tag)
		connection = NULL;
	if (connection) {
		const int phase = atomic_load_explicit(&connection->phase, memory_order_relaxed);

		if (phase != CONNECTION_FIRST_BYTES && phase != CONNECTION_DRAINING) {
			note_hang_up(table, connection, events);
			connection = NULL;
		}
	}
	(void)pthread_mutex_unlock(&table->lock);
	return connection;
}

/* Keeps the socket open under another descriptor, which the acceptor empties. */
static void drain_copy(struct connections *table, int fd)
{
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP };
	struct connection *connection;

	if (copy < 0)
		return;
	(void)shutdown(copy, SHUT_WR);
	connection = connections_open(table, copy, CONNECTION_DRAINING);
	event.data.u64 = connection_tag(connection);
	if (epoll_ctl(table->epoll_fd, EPOLL_CTL_ADD, copy, &event) == 0)
		return;
	/* nobody would hear of it any more */
	connections_close(table, connection);
	(void)close(copy);
}

/* With the lock held; it is let go. */
static void forget_and_unlock(struct connections *table, struct connection *connection)
{
	const bool wakes = table->wants_room;

	unlink_locked(table, connection);
	table->wants_room = false;
	(void)pthread_mutex_unlock(&table->lock);
	free(connection);
	if (wakes)
		connections_wake(table);
}

void connections_close(struct connections *table, struct connection *connection)
{
	if (connection->drains) {
		/* the copy would keep this one in the epoll instance */
		(void)epoll_ctl(table->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
		drain_copy(table, connection->fd);
	}
	(void)pthread_mutex_lock(&table->lock);
	forget_and_unlock(table, connection);
}

void connections_forget(struct connections *table, uint64_t tag)
{
	struct connection *connection;

	(void)pthread_mutex_lock(&table->lock);
	connection = find_locked(table, (int)(tag & INT32_MAX));
	if (connection && connection_tag(connection) == tag)
		forget_and_unlock(table, connection);
	else
		(void)pthread_mutex_unlock(&table->lock);
}

/* ---- phases ---- */

int64_t connections_timeout_ns(const struct connections *table, enum connection_phase phase)
{
	return table->options.timeout_ns[phase];
}

int connections_expire_ms(const struct connections *table)
{
	return table->expire_ms;
}

void connections_note_cut(const struct connections *table, enum connection_phase phase)
{
	if (table->options.cut)
		table->options.cut(table->options.context, phase);
}

void connection_enter(struct connections *table, struct connection *connection,
                      enum connection_phase phase)
{
	start_clock(table, connection, phase);
}

bool connection_watch(struct connections *table, struct connection *connection, uint32_t events)
{
	struct epoll_event event = { .events = events | EPOLLRDHUP | EPOLLET,
		                     .data.u64 = connection_tag(connection) };
	const int operation = connection->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	connection->is_watched = true;
	return epoll_ctl(table->epoll_fd, operation, connection->fd, &event) == 0;
}

static bool is_past(int64_t deadline_mono_ns, int64_t now_mono_ns)
{
	return deadline_mono_ns > 0 && deadline_mono_ns <= now_mono_ns;
}

static void expire(struct connections *table, struct connection *connection, int64_t now_mono_ns)
{
	const int64_t half_closed_mono_ns =
		atomic_load_explicit(&connection->half_closed_mono_ns, memory_order_relaxed);
	int64_t deadline_mono_ns =
		atomic_load_explicit(&connection->deadline_mono_ns, memory_order_relaxed);
	enum connection_phase phase;

	if (half_closed_mono_ns > 0 && now_mono_ns - half_closed_mono_ns >= HALF_CLOSED_GRACE_NS)
		atomic_store_explicit(&connection->gone, true, memory_order_relaxed);
	/* unless its owner has just entered another phase */
	if (!is_past(deadline_mono_ns, now_mono_ns) ||
	    !atomic_compare_exchange_strong(&connection->deadline_mono_ns, &deadline_mono_ns, 0))
		return;
	/* asked before: its owner enters another phase once it sees the end */
	phase = (enum connection_phase)atomic_load_explicit(&connection->phase,
	                                                    memory_order_relaxed);
	connections_note_cut(table, phase);
	/* what comes in after that still comes in: its owner sees this, not an end */
	if (phase == CONNECTION_DRAINING)
		atomic_store_explicit(&connection->gone, true, memory_order_relaxed);
	(void)shutdown(connection->fd, SHUT_RDWR);
}

int connections_expire(struct connections *table, int64_t now_mono_ns)
{
	bool is_empty;

	(void)pthread_mutex_lock(&table->lock);
	for (struct connection *connection = table->first; connection;
	     connection = connection->next)
		expire(table, connection, now_mono_ns);
	is_empty = !table->first;
	(void)pthread_mutex_unlock(&table->lock);
	return is_empty ? -1 : table->expire_ms;
}

void connections_shut_unused(struct connections *table, int64_t now_mono_ns, size_t most)
{
	(void)pthread_mutex_lock(&table->lock);
	for (struct connection *connection = table->first; connection && most > 0;
	     connection = connection->next) {
		const int phase = atomic_load_explicit(&connection->phase, memory_order_relaxed);
		const int64_t since =
			atomic_load_explicit(&connection->since_mono_ns, memory_order_relaxed);

		if (phase != CONNECTION_IDLE || now_mono_ns - since < UNUSED_NS)
			continue;
		(void)shutdown(connection->fd, SHUT_RDWR);
		most--;
	}
	(void)pthread_mutex_unlock(&table->lock);
}

void connections_shut_idle(struct connections *table)
{
	(void)pthread_mutex_lock(&table->lock);
	for (const struct connection *connection = table->first; connection;
	     connection = connection->next) {
		const int phase = atomic_load_explicit(&connection->phase, memory_order_relaxed);

		if (phase == CONNECTION_IDLE || phase == CONNECTION_FIRST_BYTES)
			(void)shutdown(connection->fd, SHUT_RDWR);
	}
	(void)pthread_mutex_unlock(&table->lock);
}

void connections_shut_all(struct connections *table)
{
	(void)pthread_mutex_lock(&table->lock);
	for (struct connection *connection = table->first; connection;
	     connection = connection->next) {
		atomic_store_explicit(&connection->gone, true, memory_order_relaxed);
		(void)shutdown(connection->fd, SHUT_RDWR);
	}
	(void)pthread_mutex_unlock(&table->lock);
}
