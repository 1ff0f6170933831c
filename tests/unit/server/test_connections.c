/* What wakes the thread that accepts, and when it may sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/http/connections.h"

static struct connections *open_table(void)
{
	struct connections *table = NULL;
	struct error err;

	assert_int_equal(connections_new(&(struct connections_options){ .max = 1 }, &table, &err),
	                 0);
	return table;
}

static bool is_awake(const struct connections *table)
{
	struct epoll_event event;

	return epoll_wait(connections_epoll_fd(table), &event, 1, 0) == 1;
}

/* Between what the acceptor looks at and its wait, nothing but itself takes a wake. */
static void a_wake_stays_until_it_is_taken(void **state)
{
	CLEANUP(connections_freep) struct connections *table = open_table();

	(void)state;
	assert_false(is_awake(table));
	connections_wake(table);
	assert_true(connections_have_room(table));
	(void)connections_expire(table, 0);
	assert_true(is_awake(table));
	connections_take_wake(table);
	assert_false(is_awake(table));
}

static void room_wakes_who_had_none(void **state)
{
	CLEANUP(connections_freep) struct connections *table = open_table();
	struct connection *connection;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	connection = connections_open(table, ends[0], CONNECTION_HEAD);
	connections_take_wake(table);
	assert_false(connections_have_room(table));
	assert_false(is_awake(table));
	connections_close(table, connection);
	assert_true(is_awake(table));
	assert_true(connections_have_room(table));
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* epoll takes no memory files: of the copy that should be emptied nobody would hear again. */
static void what_cannot_be_drained_is_closed_at_once(void **state)
{
	CLEANUP(connections_freep) struct connections *table = open_table();
	const int fd = memfd_create("no socket", MFD_CLOEXEC);
	struct connection *connection;
	int next;

	(void)state;
	assert_true(fd >= 0);
	connection = connections_open(table, fd, CONNECTION_SENDING);
	connection->drains = true;
	connections_close(table, connection);
	assert_int_equal(connections_count(table), 0);
	next = dup(fd); /* the lowest number that is free */
	assert_int_equal(next, fd + 1);
	(void)close(next);
	(void)close(fd);
}

/* Each has the memory of a connection; the third finds no room, though ten are allowed. */
static void their_memory_is_counted(void **state)
{
	CLEANUP(connections_freep) struct connections *table = NULL;
	struct connection *connections[2];
	struct budget budget;
	struct error err;
	int ends[2];

	(void)state;
	budget_init(&budget, 2 * CONNECTION_MEMORY_BYTES);
	assert_int_equal(
		connections_new(&(struct connections_options){ .max = 10, .budget = &budget },
	                        &table, &err),
		0);
	assert_int_equal(pipe(ends), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_true(connections_have_room(table));
		connections[i] = connections_open(table, ends[i], CONNECTION_HEAD);
	}
	assert_int_equal(budget_used(&budget), 2 * CONNECTION_MEMORY_BYTES);
	assert_false(connections_have_room(table));
	connections_close(table, connections[0]);
	assert_true(connections_have_room(table));
	connections_close(table, connections[1]);
	assert_int_equal(budget_used(&budget), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static bool is_shut(int peer)
{
	char byte;

	return recv(peer, &byte, 1, MSG_DONTWAIT) == 0;
}

/* Only those that wait for their next request, and not at once. */
static void the_unused_make_room(void **state)
{
	static const enum connection_phase phases[] = { CONNECTION_IDLE, CONNECTION_HEAD,
		                                        CONNECTION_RUNNING, CONNECTION_IDLE };
	CLEANUP(connections_freep) struct connections *table = open_table();
	const int64_t now = clock_mono_ns();
	int pairs[4][2];
	int shut = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
		(void)connections_open(table, pairs[i][0], phases[i]);
	}
	connections_shut_unused(table, now + NS_PER_S / 2, 10);
	for (size_t i = 0; i < 4; i++)
		assert_false(is_shut(pairs[i][1]));
	connections_shut_unused(table, now + 60 * NS_PER_S, 1);
	for (size_t i = 0; i < 4; i++)
		shut += is_shut(pairs[i][1]);
	assert_int_equal(shut, 1);
	connections_shut_unused(table, now + 60 * NS_PER_S, 10);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(is_shut(pairs[i][1]), phases[i] == CONNECTION_IDLE);
		(void)close(pairs[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wake_stays_until_it_is_taken),
		cmocka_unit_test(room_wakes_who_had_none),
		cmocka_unit_test(what_cannot_be_drained_is_closed_at_once),
		cmocka_unit_test(their_memory_is_counted),
		cmocka_unit_test(the_unused_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
