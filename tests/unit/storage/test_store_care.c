#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/day_files.h"
#include "tests/unit/skip.h"
#include "tests/unit/storage/care_fixture.h"

/* What was ever appended of one_row, added up. */
static int64_t sum_of_work(struct store *store)
{
	const struct str line = str_of(merge_all(store, "{}"));
	int64_t sum = 0;

	assert_true(str_starts_with(line, STR("0 main;work ")));
	assert_true(str_to_i64(str_skip(line, strlen("0 main;work ")), &sum));
	return sum;
}

static int64_t today_noon(void)
{
	return (int64_t)day_of(clock_unix_ns()) * NS_PER_DAY + 12 * HOUR_NS;
}

/*
 * Asks until the writer's own pass, at its start, is over: settings go through its
 * thread.
 */
static void after_the_first_pass(struct store *store)
{
	struct store_setting setting = { STR("x"), STR("y"), 0 };
	struct error err = { 0 };

	assert_int_equal(store_put_setting(store, STR("other"), &setting, &err), 0);
}

static void old_days_go(void **state)
{
	struct store *store = store_open_plain(*state);
	const int64_t today = today_noon();
	struct store_usage usage;

	for (int day = 0; day < 5; day++)
		append_one(store, day % 2 ? "a" : "b", today - day * DAY_NS);
	store_close(store);
	store = store_open_at(
		&(struct sqlite_store_options){ .path = *state, .retention_ns = 2 * DAY_NS });
	after_the_first_pass(store);
	store_usage(store, &usage);
	/* today, yesterday and the day before, which is not over for two days yet */
	assert_int_equal(usage.window_count, 3);
	assert_string_equal(ask(store, ASK_SERIES, &(struct asked){ .tenant = "a" }), "s/cpu");
	assert_string_equal(ask(store, ASK_SERIES,
	                        &(struct asked){ .tenant = "a", .end = today - 2 * DAY_NS }),
	                    "");
	store_close(store);
}

static void over_the_budget_the_oldest_days_go_and_today_stays(void **state)
{
	struct store *store = store_open_plain(*state);
	const int64_t today = today_noon();
	struct store_usage usage;
	uint64_t whole;

	for (int day = 0; day < 6; day++)
		append_one(store, "t", today - day * DAY_NS);
	store_close(store);
	store = store_open_plain(*state);
	store_usage(store, &usage);
	whole = usage.disk_bytes;
	store_close(store);
	store = store_open_at(
		&(struct sqlite_store_options){ .path = *state, .max_bytes = whole / 2 });
	after_the_first_pass(store);
	store_usage(store, &usage);
	assert_in_range(usage.window_count, 2, 3);
	store_close(store);
	/* less than one day takes: today's profiles stay, new ones are refused */
	store = store_open_at(&(struct sqlite_store_options){ .path = *state, .max_bytes = 4096 });
	after_the_first_pass(store);
	store_usage(store, &usage);
	assert_int_equal(usage.window_count, 1);
	{
		const struct made made = a_profile("s", today);

		assert_int_equal(append_made(store, "t", &made), ERROR_NO_SPACE);
	}
	assert_memory_equal(scan_all(store, "{}"), "s/cpu", 5);
	store_close(store);
}

/* Each commit writes several pages of 4 KiB to the log: unmoved, 1,500 take more than 24 MB. */
static void the_log_is_moved_while_profiles_come(void **state)
{
	struct store *store = store_open_plain(*state);
	struct store_usage usage;

	for (int i = 0; i < 1500; i++) {
		append_one(store, "t", NOON + i);
		store_usage(store, &usage);
		assert_true(usage.wal_bytes < 12 << 20);
	}
	store_close(store);
}

/* What a process wrote until it was killed. */
static void what_a_killed_process_answered_is_there(void **state)
{
	int answered[2];
	pid_t child;
	int count = 0;
	char byte;
	struct store *store;

	assert_int_equal(pipe2(answered, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		store = store_open_plain(*state);
		for (int i = 0;; i++) {
			const struct made made = a_profile("s", NOON + i);

			if (append_made(store, "t", &made) == ERROR_NONE)
				(void)!write(answered[1], "x", 1);
		}
	}
	(void)close(answered[1]);
	while (count < 100 && read(answered[0], &byte, 1) == 1)
		count++;
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	while (read(answered[0], &byte, 1) == 1)
		count++;
	(void)close(answered[0]);
	store = store_open_plain(*state);
	/* one may have been committed and not answered */
	assert_in_range(sum_of_work(store), (int64_t)count * 3, (int64_t)count * 3 + 3);
	store_close(store);
}

static void a_full_disk_is_said_and_reading_goes_on(void **state)
{
	struct store *store;
	enum error_code code = ERROR_NONE;
	int stored = 0;

	if (mount("tmpfs", *state, "tmpfs", 0, "size=1m") < 0) {
		SKIP_BECAUSE("a disk of its own takes root");
	}
	store = store_open_at(
		&(struct sqlite_store_options){ .path = *state, .max_bytes = UINT64_MAX });
	while (code == ERROR_NONE && stored < 100000) {
		const struct made made = a_profile("s", NOON + stored);

		code = append_made(store, "t", &made);
		stored += code == ERROR_NONE;
	}
	assert_int_equal(code, ERROR_NO_SPACE);
	{
		char expected[64];

		(void)snprintf(expected, sizeof(expected), "0 main;work %d", stored * 3);
		assert_string_equal(merge_all(store, "{}"), expected);
		/* space comes back: so does the store, without a restart */
		assert_int_equal(mount("tmpfs", *state, "tmpfs", MS_REMOUNT, "size=16m"), 0);
		append_one(store, "t", NOON);
		(void)snprintf(expected, sizeof(expected), "0 main;work %d", stored * 3 + 3);
		assert_string_equal(merge_all(store, "{}"), expected);
	}
	store_close(store);
	assert_int_equal(umount(*state), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(old_days_go),
		TEST(over_the_budget_the_oldest_days_go_and_today_stays),
		TEST(the_log_is_moved_while_profiles_come),
		TEST(what_a_killed_process_answered_is_there),
		TEST(a_full_disk_is_said_and_reading_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
