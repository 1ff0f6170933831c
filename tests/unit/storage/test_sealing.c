/*
 * A day that is over is written anew once, and is found as it was: what of it is on disk, what
 * comes late, what is deleted, what is damaged.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/storage/model_check.h"
#include "tests/unit/storage/whole_store.h"

#define AT_ONCE 1 /* ns */
#define FILE_1  "2024-10-04.db"
#define FILE_2  "2024-10-04.2.db"

static const struct model_question everything = { .start = INT64_MIN, .end = INT64_MAX };

static struct store *open_sealing(const char *path)
{
	return store_open_at(&(struct sqlite_store_options){
		.path = path, .compact_after_ns = AT_ONCE, .seal_after_ns = AT_ONCE });
}

/* That makes blocks, and seals after the time that is usual. */
static struct store *open_blocks(const char *path)
{
	return store_open_at(
		&(struct sqlite_store_options){ .path = path, .compact_after_ns = AT_ONCE });
}

static void tidy(struct store *store)
{
	struct error err = { 0 };

	if (sqlite_store_compact(store, &err) < 0)
		fail_msg("%s", err.message);
}

static int64_t format_of(const char *folder, const char *file)
{
	return window_number(folder, file, "PRAGMA user_version");
}

static void path_of(const char *folder, const char *file, char out[static 4200])
{
	(void)snprintf(out, 4200, "%s/tenants/t/%s", folder, file);
}

static bool is_there(const char *folder, const char *file)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "tenants/t/%s", file);
	return file_is_there(folder, name);
}

static int64_t size_of(const char *folder, const char *file)
{
	struct stat status;
	char path[4200];

	path_of(folder, file, path);
	assert_int_equal(stat(path, &status), 0);
	return status.st_size;
}

/* `count` profiles of an hour of the day, of four pods; each of 2 types and 2 rows. */
static void send_hour(struct model *model, struct store *store, int hour, int count)
{
	struct model_profile sent[240];

	assert_true(count <= (int)ARRAY_LENGTH(sent));
	for (int i = 0; i < count; i++) {
		sent[i] = (struct model_profile){
			.service = "api",
			.types = { "samples", "cpu" },
			.type_count = 2,
			.time = NOON + (hour - 12) * HOUR_NS + i * NS_PER_S,
			.id = (uint64_t)i + 1,
			.origin = (uint64_t)i + 1,
			.rows = { { "main;work", { 1 + i % 7, 10 + 10 * (i % 7) }, 0, 0 },
			          { "main;idle", { 2, 20 }, 0, 0 } },
			.row_count = 2,
		};
		(void)snprintf(sent[i].pod, sizeof(sent[i].pod), "pod-%d", i % 4);
	}
	model_send(model, store, sent, (size_t)count);
}

static uint64_t remove_from(struct store *store, const struct model_question *question)
{
	struct arena *arena = arena_new((size_t)16 << 20, NULL);
	struct model_query query;
	struct error err = { 0 };
	uint64_t removed = 0;

	model_query_init(&query, arena, question);
	if (store_remove(store, &query.query, STORE_REMOVE, &removed, &err) < 0)
		fail_msg("%s", err.message);
	selector_fini(&query.selector);
	arena_free(arena);
	return removed;
}

static uint64_t sealed_windows(struct store *store)
{
	struct store_usage usage;

	store_usage(store, &usage);
	return usage.sealed_window_count;
}

/* ---- what is on disk ---- */

static void a_day_that_is_over_becomes_a_file_without_ballast(void **state)
{
	struct store *store = open_blocks(*state);
	struct model model = { 0 };
	int64_t before;

	for (int hour = 0; hour < 4; hour++)
		send_hour(&model, store, hour, 200);
	tidy(store);
	store_close(store);
	before = size_of(*state, FILE_1);
	assert_int_equal(format_of(*state, FILE_1), 2);
	assert_true(window_number(*state, FILE_1, "PRAGMA freelist_count") > 0);
	assert_int_equal(window_number(*state, FILE_1, "SELECT count(origins) FROM block"), 4);

	store = open_sealing(*state);
	tidy(store);
	assert_int_equal(sealed_windows(store), 1);
	assert_int_equal(format_of(*state, FILE_1), 3);
	assert_true(size_of(*state, FILE_1) < before);
	assert_int_equal(window_number(*state, FILE_1, "PRAGMA freelist_count"), 0);
	assert_int_equal(window_number(*state, FILE_1, "SELECT count(origins) FROM block"), 0);
	assert_int_equal(window_number(*state, FILE_1, "SELECT sum(profiles) FROM block"), 800);
	/* heads, sums and detail of each hour; four kinds of symbols, a page each */
	assert_int_equal(window_number(*state, FILE_1, "SELECT count(*) FROM block_page"), 12);
	assert_int_equal(window_number(*state, FILE_1, "SELECT count(*) FROM page"), 4);
	model_check_all(&model, store, &everything);
	/* nothing beside it, though it was read */
	assert_false(is_there(*state, FILE_1 "-wal"));
	assert_false(is_there(*state, FILE_1 "-shm"));
	assert_false(is_there(*state, FILE_1 WINDOW_SEALING_TAIL));
	store_close(store);
	store = open_blocks(*state);
	model_check_all(&model, store, &everything);
	store_close(store);
	model_fini(&model);
}

static void small_blocks_of_an_hour_are_sealed_as_one(void **state)
{
	struct store *store = open_blocks(*state);
	struct model model = { 0 };

	send_hour(&model, store, 5, 200);
	tidy(store);
	for (int i = 0; i < 3; i++) {
		const struct model_profile late = {
			.service = "api",
			.pod = "pod-1",
			.types = { "samples", "cpu" },
			.type_count = 2,
			.time = NOON - 7 * HOUR_NS + i,
			.rows = { { "main;late", { 5, 50 }, 7, 9 } },
			.row_count = 1,
		};

		model_send(&model, store, &late, 1);
		tidy(store);
	}
	assert_true(window_number(*state, FILE_1, "SELECT count(*) FROM block") > 1);
	store_close(store);
	store = open_sealing(*state);
	tidy(store);
	assert_int_equal(format_of(*state, FILE_1), 3);
	assert_int_equal(window_number(*state, FILE_1, "SELECT count(*) FROM block"), 1);
	assert_int_equal(window_number(*state, FILE_1, "SELECT profiles FROM block"), 203);
	model_check_all(&model, store, &everything);
	store_close(store);
	model_fini(&model);
}

/* ---- when ---- */

static void written_ago(const char *folder, const char *file, int64_t seconds)
{
	const struct timespec then = { .tv_sec = clock_unix_ns() / NS_PER_S - seconds };
	char path[4200];

	path_of(folder, file, path);
	assert_int_equal(utimensat(AT_FDCWD, path, (const struct timespec[]){ then, then }, 0), 0);
}

static void a_day_is_sealed_when_nothing_came_for_24_hours(void **state)
{
	static const struct {
		int64_t written_s_ago;
		int64_t format;
	} cases[] = {
		{ 86400 - 300, 2 },
		{ 86400 + 300, 3 },
	};
	struct store *store = open_blocks(*state);
	struct model model = { 0 };

	send_hour(&model, store, 3, 20);
	tidy(store);
	store_close(store);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		written_ago(*state, FILE_1, cases[i].written_s_ago);
		store = open_blocks(*state);
		tidy(store);
		assert_int_equal(format_of(*state, FILE_1), cases[i].format);
		store_close(store);
	}
	model_fini(&model);
}

static void a_day_that_is_not_over_stays_open(void **state)
{
	const struct made_row row = { "main;work", { 3 }, 0 };
	const struct made made = { "s", { "cpu" }, clock_unix_ns() + DAY_NS, &row, 1, 0, 0 };
	struct store *store = open_sealing(*state);

	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	tidy(store);
	assert_int_equal(sealed_windows(store), 0);
	store_close(store);
}

static void a_sealed_day_is_known_after_a_start(void **state)
{
	struct store *store = open_sealing(*state);
	struct model model = { 0 };

	send_hour(&model, store, 3, 20);
	tidy(store);
	store_close(store);
	store = open_blocks(*state);
	tidy(store); /* it has looked now */
	assert_int_equal(sealed_windows(store), 1);
	store_close(store);
	model_fini(&model);
}

/* ---- what comes late ---- */

static void what_comes_late_goes_to_the_next_file_of_the_day(void **state)
{
	struct store *store = open_sealing(*state);
	struct model model = { 0 };
	int64_t size;

	send_hour(&model, store, 3, 40);
	tidy(store);
	size = size_of(*state, FILE_1);
	store_close(store);

	store = store_open_plain(*state); /* what came a moment ago stays fresh */
	send_hour(&model, store, 6, 40);
	send_hour(&model, store, 7, 40);
	model_check_all(&model, store, &everything);
	store_close(store);
	assert_int_equal(size_of(*state, FILE_1), size);
	assert_int_equal(window_number(*state, FILE_2, "SELECT count(*) FROM profile"), 80);

	/* a start later they go on there, until it is sealed in its turn */
	store = store_open_plain(*state);
	send_hour(&model, store, 8, 40);
	store_close(store);
	assert_int_equal(window_number(*state, FILE_2, "SELECT count(*) FROM profile"), 120);
	assert_false(is_there(*state, "2024-10-04.3.db"));
	store = open_sealing(*state);
	tidy(store);
	assert_int_equal(format_of(*state, FILE_2), 3);
	assert_int_equal(sealed_windows(store), 2);
	send_hour(&model, store, 9, 10);
	assert_true(is_there(*state, "2024-10-04.3.db"));
	model_check_all(&model, store, &everything);
	store_close(store);
	model_fini(&model);
}

/* ---- what is deleted ---- */

static void deleting_takes_a_day_out_of_its_seal(void **state)
{
	struct store *store = open_sealing(*state);
	struct model model = { 0 };
	const struct model_question nothing = { .service = "nobody",
		                                .start = INT64_MIN,
		                                .end = INT64_MAX };
	const struct model_question before = { .start = INT64_MIN, .end = NOON - 11 * HOUR_NS };
	const struct model_question some = {
		.pod = "pod-1", .type = "cpu", .start = INT64_MIN, .end = NOON - 8 * HOUR_NS
	};

	for (int hour = 3; hour < 6; hour++)
		send_hour(&model, store, hour, 40);
	tidy(store);
	store_close(store);
	store = open_blocks(*state);
	/* none of it: the seal stays */
	assert_int_equal(remove_from(store, &nothing), 0);
	assert_int_equal(remove_from(store, &before), 0);
	assert_int_equal(format_of(*state, FILE_1), 3);
	/* ten profiles of pod 1 an hour; the one of 4:00 itself has another pod */
	assert_int_equal(remove_from(store, &some), 10);
	assert_int_equal(model_remove(&model, &some), 10);
	assert_int_equal(format_of(*state, FILE_1), 2);
	assert_false(is_there(*state, FILE_1 WINDOW_UNSEALING_TAIL));
	model_check_all(&model, store, &everything);
	/* new profiles go to it again */
	send_hour(&model, store, 10, 5);
	assert_false(is_there(*state, FILE_2));
	store_close(store);
	store = open_sealing(*state);
	tidy(store);
	assert_int_equal(format_of(*state, FILE_1), 3);
	model_check_all(&model, store, &everything);
	store_close(store);
	model_fini(&model);
}

/* ---- what goes wrong ---- */

static void a_day_that_does_not_read_back_is_not_sealed(void **state)
{
	const struct made_row row = { "main;work", { 3 }, 0 };
	const struct made next_day = { "s", { "cpu" }, NOON + DAY_NS, &row, 1, 0, 0 };
	struct store *store = open_blocks(*state);
	struct database *database = NULL;
	struct model model = { 0 };
	struct error err = { 0 };
	char path[4200];

	send_hour(&model, store, 3, 40);
	tidy(store);
	assert_int_equal(append_made(store, "t", &next_day), ERROR_NONE);
	tidy(store);
	store_close(store);
	path_of(*state, FILE_1, path);
	assert_int_equal(database_open(path, DATABASE_WRITE, &database, &err), 0);
	assert_int_equal(database_run(database,
	                              "UPDATE block_page SET body = x'0000000000' WHERE id = "
	                              "(SELECT detail FROM block)",
	                              &err),
	                 0);
	database_close(database);
	store = open_sealing(*state);
	assert_int_equal(sqlite_store_compact(store, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	assert_int_equal(format_of(*state, FILE_1), 2);
	assert_false(is_there(*state, FILE_1 WINDOW_SEALING_TAIL));
	/* the other day is */
	assert_int_equal(format_of(*state, "2024-10-05.db"), 3);
	store_close(store);
	model_fini(&model);
}

static void make_file(const char *folder, const char *file)
{
	char path[4200];
	FILE *made;

	path_of(folder, file, path);
	made = fopen(path, "we");
	assert_non_null(made);
	assert_true(fputs("half of something", made) >= 0);
	assert_int_equal(fclose(made), 0);
}

static void what_a_killed_process_left_is_removed_by_the_next_one(void **state)
{
	struct store *store = open_sealing(*state);
	struct model model = { 0 };

	send_hour(&model, store, 3, 40);
	tidy(store);
	store_close(store);
	make_file(*state, FILE_1 WINDOW_SEALING_TAIL);
	make_file(*state, FILE_2 WINDOW_SEALING_TAIL);
	make_file(*state, FILE_1 WINDOW_UNSEALING_TAIL);
	/* not by who only reads: a server may be at work beside it */
	store = store_open_at(&(struct sqlite_store_options){ .path = *state, .read_only = true });
	model_check_all(&model, store, &everything);
	store_close(store);
	assert_true(is_there(*state, FILE_1 WINDOW_SEALING_TAIL));
	store = open_blocks(*state);
	model_check_all(&model, store, &everything);
	assert_false(is_there(*state, FILE_1 WINDOW_SEALING_TAIL));
	assert_false(is_there(*state, FILE_2 WINDOW_SEALING_TAIL));
	assert_false(is_there(*state, FILE_1 WINDOW_UNSEALING_TAIL));
	store_close(store);
	model_fini(&model);
}

/* It is there for a moment, and takes the place of a file that is larger. */
static void a_file_on_its_way_makes_no_day_go(void **state)
{
	struct store *store = open_blocks(*state);
	struct model model = { 0 };
	struct store_usage before;
	struct store_usage usage;
	struct error err = { 0 };
	char path[4200];
	char *bytes = calloc(1, 8 << 20);
	FILE *file;

	assert_non_null(bytes);
	send_hour(&model, store, 3, 40);
	send_hour(&model, store, 3 + 24, 40);
	store_usage(store, &before);
	path_of(*state, FILE_1 WINDOW_SEALING_TAIL, path);
	memset(bytes, 1, 8 << 20);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, 8 << 20, file), 8 << 20);
	assert_int_equal(fclose(file), 0);
	store_usage(store, &usage);
	assert_true(usage.disk_bytes >= before.disk_bytes + (8 << 20));
	assert_int_equal(sqlite_store_set_retention(store, 0, before.disk_bytes + (4 << 20), &err),
	                 0);
	model_check_all(&model, store, &everything);
	store_close(store);
	free(bytes);
	model_fini(&model);
}

/* A log that a killed process left is moved into the file before that is replaced. */
static void a_log_that_was_left_is_not_lost(void **state)
{
	struct store *store = open_blocks(*state);
	struct model model = { 0 };
	char copy[4300];
	char back[4300];

	send_hour(&model, store, 3, 40);
	tidy(store);
	/* as it lies there now, with a log, is how a killed process leaves it */
	(void)snprintf(copy, sizeof(copy), "cp -r '%s' '%s.left'", (char *)*state, (char *)*state);
	assert_int_equal(system(copy), 0);
	store_close(store);
	(void)snprintf(back, sizeof(back), "rm -rf '%s' && mv '%s.left' '%s'", (char *)*state,
	               (char *)*state, (char *)*state);
	assert_int_equal(system(back), 0);
	assert_true(size_of(*state, FILE_1 "-wal") > 0);
	store = open_sealing(*state);
	tidy(store);
	assert_int_equal(format_of(*state, FILE_1), 3);
	assert_false(is_there(*state, FILE_1 "-wal"));
	model_check_all(&model, store, &everything);
	store_close(store);
	model_fini(&model);
}

/* ---- readers meanwhile ---- */

struct watcher {
	struct store *store;
	_Atomic bool stop;
	_Atomic int looks;
	_Atomic int wrong;
	pthread_t thread;
};

/* 40 profiles of 3 hours: main;idle has 2 samples and 20 ns in each. */
#define IDLE_SUM ((int64_t)3 * 40 * (2 + 20))

static int sum_idle(void *context, const struct stack_sums *sums, struct error *err)
{
	int64_t *total = context;

	(void)err;
	for (size_t i = 0; i < sums->count; i++) {
		char stack[100];

		stack_text(sums->symbols, sums->stacks[i], stack, sizeof(stack));
		if (strcmp(stack, "main;idle") == 0)
			*total += sums->sums[i];
	}
	return 0;
}

static void *watch(void *argument)
{
	struct watcher *watcher = argument;

	while (!atomic_load(&watcher->stop)) {
		struct arena *arena = arena_new((size_t)64 << 20, NULL);
		struct model_query query;
		struct error err = { 0 };
		int64_t total = 0;

		model_query_init(&query, arena, &everything);
		query.query.filter = NULL;
		if (store_merge(watcher->store, &query.query, NULL, sum_idle, &total, &err) < 0 ||
		    total != IDLE_SUM)
			atomic_fetch_add(&watcher->wrong, 1);
		atomic_fetch_add(&watcher->looks, 1);
		selector_fini(&query.selector);
		arena_free(arena);
	}
	return NULL;
}

static void wait_for_looks(struct watcher *watchers, size_t count, int more)
{
	for (size_t i = 0; i < count; i++) {
		const int before = atomic_load(&watchers[i].looks);

		while (atomic_load(&watchers[i].looks) < before + more)
			(void)usleep(100);
	}
}

static void readers_see_everything_while_a_day_is_sealed_and_unsealed(void **state)
{
	struct store *store = open_sealing(*state);
	const struct model_question late = { .pod = "pod-late",
		                             .start = INT64_MIN,
		                             .end = INT64_MAX };
	struct model_profile extra = { .service = "api",
		                       .pod = "pod-late",
		                       .types = { "cpu" },
		                       .type_count = 1,
		                       .time = NOON,
		                       .rows = { { "main;late", { 1 }, 0, 0 } },
		                       .row_count = 1 };
	struct watcher watchers[2] = { 0 };
	struct store *follower;
	struct model model = { 0 };

	for (int hour = 3; hour < 6; hour++)
		send_hour(&model, store, hour, 40);
	model_send(&model, store, &extra, 1);
	follower =
		store_open_at(&(struct sqlite_store_options){ .path = *state, .read_only = true });
	watchers[0].store = store;
	watchers[1].store = follower;
	for (size_t i = 0; i < ARRAY_LENGTH(watchers); i++)
		assert_int_equal(pthread_create(&watchers[i].thread, NULL, watch, &watchers[i]), 0);
	wait_for_looks(watchers, ARRAY_LENGTH(watchers), 3);
	for (int round = 0; round < 6; round++) {
		struct error err = { 0 };

		/* a reader that holds an older moment puts it off */
		while (sqlite_store_compact(store, &err) < 0)
			assert_int_equal(err.code, ERROR_UNAVAILABLE);
		wait_for_looks(watchers, ARRAY_LENGTH(watchers), 1);
		assert_int_equal(remove_from(store, &late), 1);
		extra.time += NS_PER_S;
		model_send(&model, store, &extra, 1);
		wait_for_looks(watchers, ARRAY_LENGTH(watchers), 1);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(watchers); i++) {
		atomic_store(&watchers[i].stop, true);
		(void)pthread_join(watchers[i].thread, NULL);
		assert_int_equal(atomic_load(&watchers[i].wrong), 0);
	}
	store_close(follower);
	store_close(store);
	model_fini(&model);
}

/* A folder whose store is damaged on purpose. */
static int teardown_damaged(void **state)
{
	folder_drop(*state);
	return 0;
}

int main(void)
{
#define TEST(name)   cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_D(name) cmocka_unit_test_setup_teardown(name, setup, teardown_damaged)
	const struct CMUnitTest tests[] = {
		TEST(a_day_that_is_over_becomes_a_file_without_ballast),
		TEST(small_blocks_of_an_hour_are_sealed_as_one),
		TEST(a_day_is_sealed_when_nothing_came_for_24_hours),
		TEST(a_day_that_is_not_over_stays_open),
		TEST(a_sealed_day_is_known_after_a_start),
		TEST(what_comes_late_goes_to_the_next_file_of_the_day),
		TEST(deleting_takes_a_day_out_of_its_seal),
		TEST_D(a_day_that_does_not_read_back_is_not_sealed),
		TEST(what_a_killed_process_left_is_removed_by_the_next_one),
		TEST(a_log_that_was_left_is_not_lost),
		TEST(a_file_on_its_way_makes_no_day_go),
		TEST(readers_see_everything_while_a_day_is_sealed_and_unsealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
