#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/push/push_backlog.h"
#include "tests/unit/server/spool_harness.h"

struct fixture {
	struct spool_place place;
	struct push_backlog_options options;
	struct push_backlog *backlog;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	place_make(&fixture->place);
	fixture->options = (struct push_backlog_options){
		.memory_bytes = 1000,
		.spool_path = fixture->place.path,
		.spool_bytes = (uint64_t)1 << 20,
		.spool_retry_ns = NS_PER_MS,
	};
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	place_remove(&fixture->place);
	free(fixture);
	return 0;
}

static void begin(struct fixture *fixture)
{
	fixture->backlog = push_backlog_new(&fixture->options);
}

static void end(struct fixture *fixture, size_t lost, size_t kept)
{
	size_t found_lost;
	size_t found_kept;

	push_backlog_free(fixture->backlog, &found_lost, &found_kept);
	assert_int_equal(found_lost, lost);
	assert_int_equal(found_kept, kept);
}

static void add(struct fixture *fixture, const char *text)
{
	push_backlog_add(fixture->backlog, str_of(text));
}

static void expect(struct fixture *fixture, const char *text)
{
	struct push_taken taken;

	assert_true(push_backlog_take(fixture->backlog, &taken));
	assert_true(str_equals(taken.request, text));
}

static void expect_and_settle(struct fixture *fixture, const char *text)
{
	expect(fixture, text);
	push_backlog_settle(fixture->backlog);
}

static void expect_end(struct fixture *fixture)
{
	struct push_taken taken;

	push_backlog_close(fixture->backlog);
	assert_false(push_backlog_take(fixture->backlog, &taken));
}

/* Waits for a number of files. */
static void wait_for_files(struct fixture *fixture, size_t count)
{
	struct stat status;

	while (stat(fixture->place.path, &status) < 0 ||
	       place_count(&fixture->place, ".push") != count)
		sched_yield();
}

static void without_a_spool_pushes_wait_in_memory(void **state)
{
	struct fixture *fixture = *state;
	struct push_backlog_counts counts;

	fixture->options.spool_path = NULL;
	begin(fixture);
	add(fixture, "one");
	add(fixture, "three");
	counts = push_backlog_counts(fixture->backlog);
	assert_int_equal(counts.waiting, 2);
	assert_int_equal(counts.waiting_bytes, 8);
	assert_int_equal(counts.spool_bytes, 0);
	assert_false(counts.is_spooling);
	assert_in_range(counts.oldest_unix_ns, clock_unix_ns() - 60 * NS_PER_S, clock_unix_ns());
	expect_and_settle(fixture, "one");
	expect(fixture, "three");
	add(fixture, "four");
	end(fixture, 2, 0);
}

/* Whoever is killed now has lost nothing. */
static void what_comes_goes_to_the_spool_by_itself(void **state)
{
	struct fixture *fixture = *state;
	struct push_backlog_counts counts;

	begin(fixture);
	add(fixture, "one");
	add(fixture, "two");
	wait_for_files(fixture, 2);
	do
		counts = push_backlog_counts(fixture->backlog);
	while (counts.waiting_bytes > counts.spool_bytes);
	assert_int_equal(counts.waiting, 2);
	assert_int_equal(counts.spool_bytes, 2 * 4096);
	assert_true(counts.is_spooling);
	expect_and_settle(fixture, "one");
	expect_and_settle(fixture, "two");
	wait_for_files(fixture, 0);
	expect_end(fixture);
	end(fixture, 0, 0);
}

static void what_waits_at_the_end_comes_first_the_next_time(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture);
	add(fixture, "one");
	expect(fixture, "one");
	add(fixture, "two");
	end(fixture, 0, 2);
	begin(fixture);
	add(fixture, "three");
	expect_and_settle(fixture, "one");
	expect_and_settle(fixture, "two");
	expect_and_settle(fixture, "three");
	expect_end(fixture);
	end(fixture, 0, 0);
}

/* There is a file where the folder should be, until it goes. */
static void a_spool_that_cannot_be_is_done_without_until_it_can(void **state)
{
	struct fixture *fixture = *state;
	struct spool_place above = { 0 };
	int64_t begin_unix_ns;

	(void)snprintf(above.path, sizeof(above.path), "%s", fixture->place.parent);
	place_write(&above, "spool", "x", 1);
	begin(fixture);
	add(fixture, "one");
	begin_unix_ns = push_backlog_counts(fixture->backlog).oldest_unix_ns;
	add(fixture, "two");
	expect(fixture, "one"); /* out of memory */
	assert_false(push_backlog_counts(fixture->backlog).is_spooling);
	assert_int_equal(unlink(fixture->place.path), 0);
	wait_for_files(fixture, 1);
	add(fixture, "three");
	wait_for_files(fixture, 2);
	assert_int_equal(push_backlog_counts(fixture->backlog).oldest_unix_ns, begin_unix_ns);
	end(fixture, 0, 3); /* what was taken out of memory, too; and it is still the first */
	begin(fixture);
	expect_and_settle(fixture, "one");
	expect_and_settle(fixture, "two");
	expect_and_settle(fixture, "three");
	expect_end(fixture);
	end(fixture, 0, 0);
}

static void memory_is_bounded_while_the_spool_cannot_be(void **state)
{
	struct fixture *fixture = *state;
	struct spool_place above = { 0 };
	struct push_backlog_counts counts;

	(void)snprintf(above.path, sizeof(above.path), "%s", fixture->place.parent);
	place_write(&above, "spool", "x", 1);
	fixture->options.memory_bytes = 8;
	begin(fixture);
	add(fixture, "aaaa");
	add(fixture, "bbbb");
	add(fixture, "cccc");
	counts = push_backlog_counts(fixture->backlog);
	assert_int_equal(counts.dropped[PUSH_DROP_MEMORY_FULL], 1);
	assert_int_equal(counts.waiting, 2);
	expect_and_settle(fixture, "bbbb");
	end(fixture, 1, 0);
}

static void the_bound_of_the_spool_drops_the_oldest(void **state)
{
	struct fixture *fixture = *state;
	struct push_backlog_counts counts;
	char text[8];

	fixture->options.spool_bytes = 2 * 4096;
	begin(fixture);
	for (unsigned int i = 0; i < 5; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		add(fixture, text);
	}
	do
		counts = push_backlog_counts(fixture->backlog);
	while (counts.dropped[PUSH_DROP_SPOOL_FULL] < 3);
	end(fixture, 0, 2);
	begin(fixture);
	expect_and_settle(fixture, "3");
	expect_and_settle(fixture, "4");
	expect_end(fixture);
	end(fixture, 0, 0);
}

/* It was not when it was taken; the other side has been away for more than an hour since. */
static void what_becomes_too_old_is_dropped(void **state)
{
	struct fixture *fixture = *state;

	fixture->options.spool_path = NULL;
	fixture->options.max_age_ns = 3600 * NS_PER_S;
	begin(fixture);
	add(fixture, "one");
	expect(fixture, "one");
	assert_false(push_backlog_expire(fixture->backlog));
	clock_warp_unix(clock_unix_ns() + 3700 * NS_PER_S, 1);
	assert_true(push_backlog_expire(fixture->backlog));
	clock_warp_unix(0, 0);
	assert_int_equal(push_backlog_counts(fixture->backlog).dropped[PUSH_DROP_TOO_OLD], 1);
	assert_int_equal(push_backlog_counts(fixture->backlog).waiting, 0);
	end(fixture, 0, 0);
}

static void the_spool_drops_what_became_too_old_while_nobody_ran(void **state)
{
	struct fixture *fixture = *state;
	struct push_backlog_counts counts;

	begin(fixture);
	add(fixture, "one");
	end(fixture, 0, 1);
	clock_warp_unix(clock_unix_ns() + 3700 * NS_PER_S, 1);
	fixture->options.max_age_ns = 3600 * NS_PER_S;
	begin(fixture);
	add(fixture, "two");
	expect_and_settle(fixture, "two");
	counts = push_backlog_counts(fixture->backlog);
	end(fixture, 0, 0);
	clock_warp_unix(0, 0);
	assert_int_equal(counts.dropped[PUSH_DROP_TOO_OLD], 1);
}

#define PUSHES 2000

static void *add_many(void *context)
{
	struct fixture *fixture = context;
	char text[16];

	for (unsigned int i = 0; i < PUSHES; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		add(fixture, text);
		if (i % 100 == 0)
			push_backlog_secure(fixture->backlog);
	}
	return NULL;
}

/* One adds, the keeper moves, one takes; and another looks on. */
static void the_order_holds_whoever_is_faster(void **state)
{
	struct fixture *fixture = *state;
	pthread_t adder;
	char text[16];

	fixture->options.memory_bytes = 1 << 20;
	fixture->options.spool_bytes = (uint64_t)PUSHES * 4096;
	begin(fixture);
	pthread_create(&adder, NULL, add_many, fixture);
	for (unsigned int i = 0; i < PUSHES; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		expect_and_settle(fixture, text);
		(void)push_backlog_counts(fixture->backlog);
	}
	pthread_join(adder, NULL);
	expect_end(fixture);
	end(fixture, 0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_spool_pushes_wait_in_memory),
		TEST(what_comes_goes_to_the_spool_by_itself),
		TEST(what_waits_at_the_end_comes_first_the_next_time),
		TEST(a_spool_that_cannot_be_is_done_without_until_it_can),
		TEST(memory_is_bounded_while_the_spool_cannot_be),
		TEST(the_bound_of_the_spool_drops_the_oldest),
		TEST(what_becomes_too_old_is_dropped),
		TEST(the_spool_drops_what_became_too_old_while_nobody_ran),
		TEST(the_order_holds_whoever_is_faster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
