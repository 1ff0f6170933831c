/* What wakes the thread that accepts, and when it may sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wake_stays_until_it_is_taken),
		cmocka_unit_test(room_wakes_who_had_none),
		cmocka_unit_test(what_cannot_be_drained_is_closed_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
