#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/day_files.h"
#include "storage/store_folder.h"
#include "tests/unit/skip.h"
#include "tests/unit/storage/store_fixture.h"

static const struct made_row one_row[] = { { "main;work", { 3 }, 0 } };

static struct made a_profile(const char *service, int64_t time)
{
	return (struct made){ .service = service,
		              .types = { "cpu" },
		              .time = time,
		              .rows = one_row,
		              .row_count = 1 };
}

static void append_one(struct store *store, const char *tenant, int64_t time)
{
	const struct made made = a_profile("s", time);

	assert_int_equal(append_made(store, tenant, &made), ERROR_NONE);
}

/* What was ever appended of one_row, added up. */
static int64_t sum_of_work(struct store *store)
{
	const struct str line = str_of(merge_all(store, "{}"));
	int64_t sum = 0;

	assert_true(str_starts_with(line, STR("0 main;work ")));
	assert_true(str_to_i64(str_skip(line, strlen("0 main;work ")), &sum));
	return sum;
}

static int setup(void **state)
{
	*state = folder_make();
	return 0;
}

static int teardown(void **state)
{
	folder_drop(*state);
	return 0;
}

/* ---- one writer, many readers ---- */

static void a_second_writer_is_refused(void **state)
{
	struct store *store = store_open_plain(*state);
	struct store *second = NULL;
	struct error err = { 0 };

	assert_int_equal(sqlite_store_open(&(struct sqlite_store_options){ .path = *state },
	                                   &second, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.message, "in use by another process"));
	store_close(store);
	store_close(store_open_plain(*state));
}

static void a_reader_beside_the_writer_sees_what_is_committed(void **state)
{
	struct store *writer = store_open_plain(*state);
	struct store *reader;
	const struct made more = a_profile("s2", NOON + DAY_NS);

	append_one(writer, "t", NOON);
	reader = store_open_at(&(struct sqlite_store_options){ .path = *state, .read_only = true });
	assert_string_equal(merge_all(reader, "{}"), "0 main;work 3");
	/* new symbols and series in a window that is open already, and a new window */
	{
		const struct made_row row = { "main;new", { 8 }, 0 };
		const struct made made = { "other", { "cpu" }, NOON + 1, &row, 1, 0, 0 };

		assert_int_equal(append_made(writer, "t", &made), ERROR_NONE);
	}
	assert_string_equal(merge_all(reader, "{}"), "0 main;new 8 | 0 main;work 3");
	assert_int_equal(append_made(writer, "t", &more), ERROR_NONE);
	assert_string_equal(merge_all(reader, "{service_name=\"s2\"}"), "0 main;work 3");
	assert_int_equal(append_made(reader, "t", &more), ERROR_FORBIDDEN);
	store_close(reader);
	store_close(writer);
	/* and alone */
	reader = store_open_at(&(struct sqlite_store_options){ .path = *state, .read_only = true });
	assert_string_equal(merge_all(reader, "{service_name=\"s2\"}"), "0 main;work 3");
	store_close(reader);
}

static void a_reader_follows_pages_that_are_written_anew(void **state)
{
	struct store *writer = store_open_plain(*state);
	struct store *reader = NULL;

	/* each append has a new stack, so a new page: every 64 of them become one */
	for (int i = 0; i < 200; i++) {
		char stack[32];
		const struct made_row row = { stack, { 1 }, 0 };
		const struct made made = {
			i < 199 ? "s" : "last", { "cpu" }, NOON + i, &row, 1, 0, 0
		};

		(void)snprintf(stack, sizeof(stack), "main;f%d", i);
		assert_int_equal(append_made(writer, "t", &made), ERROR_NONE);
		if (i == 0)
			reader = store_open_at(&(struct sqlite_store_options){ .path = *state,
			                                                       .read_only = true });
		if (i % 40 == 0) {
			char expected[64];

			(void)snprintf(expected, sizeof(expected), "0 main;f%d 1", i);
			assert_string_equal(
				ask(reader, ASK_MERGE,
			            &(struct asked){ .start = NOON + i, .end = NOON + i }),
				expected);
		}
	}
	assert_string_equal(merge_all(reader, "{service_name=\"last\"}"), "0 main;f199 1");
	store_close(reader);
	store_close(writer);
}

static void a_reader_finds_no_store_where_none_is(void **state)
{
	struct store *store = NULL;
	struct error err = { 0 };

	assert_int_equal(sqlite_store_open(&(struct sqlite_store_options){ .path = *state,
	                                                                   .read_only = true },
	                                   &store, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void a_newer_format_is_refused(void **state)
{
	struct store *store = store_open_plain(*state);
	struct error err = { 0 };
	char path[4200];
	FILE *file;

	store_close(store);
	(void)snprintf(path, sizeof(path), "%s/STORE", (char *)*state);
	file = fopen(path, "we");
	(void)fputs("vramscope store\nformat 2\nsomething new\n", file);
	(void)fclose(file);
	assert_int_equal(sqlite_store_open(&(struct sqlite_store_options){ .path = *state }, &store,
	                                   &err),
	                 -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

static void network_file_systems_are_known_by_name(void **state)
{
	(void)state;
	assert_string_equal(store_folder_network_name(0x6969), "NFS");
	assert_string_equal(store_folder_network_name(0xff534d42), "CIFS");
	assert_string_equal(store_folder_network_name(0x01021997), "9p");
	assert_string_equal(store_folder_network_name(0x65735546), "FUSE");
	assert_string_equal(store_folder_network_name(0x00c36400), "Ceph");
	assert_null(store_folder_network_name(0xef53)); /* ext4 */
}

/* ---- retention ---- */

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

/* ---- damage ---- */

static void overwrite(const char *folder, const char *name, long offset, const char *text)
{
	char path[4200];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r+e");
	assert_non_null(file);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	for (int i = 0; i < 64; i++)
		(void)fputs(text, file);
	assert_int_equal(fclose(file), 0);
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

static void a_damaged_window_is_set_aside_and_the_rest_is_served(void **state)
{
	static const long offsets[] = { 0, 3 * 4096 };
	struct store_usage usage;

	for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++) {
		struct store *store = store_open_plain(*state);

		append_one(store, "t", NOON);
		append_one(store, "t", NOON + DAY_NS);
		store_close(store);
		overwrite(*state, "tenants/t/2024-10-04.db", offsets[i], "not a database, ");
		store = store_open_plain(*state);
		assert_string_equal(merge_all(store, "{}"), "error 13");
		store_usage(store, &usage);
		assert_int_equal(usage.damaged_windows, 1);
		assert_memory_equal(merge_all(store, "{}"), "0 main;work ", 12);
		/* the day begins anew */
		append_one(store, "t", NOON);
		assert_true(file_is_there(*state, "tenants/t/2024-10-04.db.damaged"));
		store_close(store);
	}
	assert_true(file_is_there(*state, "tenants/t/2024-10-04.db.damaged.2"));
}

/* Puts bytes of a database's head in place: 60 is user_version, 68 application_id. */
static void put_number(const char *folder, const char *name, long offset, const uint8_t number[4])
{
	char path[4200];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r+e");
	assert_non_null(file);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	assert_int_equal(fwrite(number, 1, 4, file), 4);
	assert_int_equal(fclose(file), 0);
}

static void a_window_of_a_later_format_is_set_aside_and_the_rest_is_served(void **state)
{
	struct store *store = store_open_plain(*state);

	append_one(store, "t", NOON);
	append_one(store, "t", NOON + DAY_NS);
	store_close(store);
	put_number(*state, "tenants/t/2024-10-04.db", 60, (const uint8_t[]){ 0, 0, 0, 2 });
	store = store_open_plain(*state);
	assert_string_equal(merge_all(store, "{}"), "error 13");
	assert_string_equal(merge_all(store, "{}"), "0 main;work 3");
	append_one(store, "t", NOON);
	assert_true(file_is_there(*state, "tenants/t/2024-10-04.db.damaged"));
	store_close(store);
}

static void a_window_that_lost_its_numbers_is_set_aside(void **state)
{
	static const uint8_t zero[4] = { 0 };
	struct store *store = store_open_plain(*state);

	append_one(store, "t", NOON);
	store_close(store);
	put_number(*state, "tenants/t/2024-10-04.db", 60, zero);
	put_number(*state, "tenants/t/2024-10-04.db", 68, zero);
	store = store_open_plain(*state);
	append_one(store, "t", NOON);
	assert_string_equal(merge_all(store, "{}"), "0 main;work 3");
	assert_true(file_is_there(*state, "tenants/t/2024-10-04.db.damaged"));
	store_close(store);
}

static void what_is_no_file_is_no_window(void **state)
{
	struct store *store = store_open_plain(*state);
	char path[4200];

	append_one(store, "t", NOON);
	store_close(store);
	(void)snprintf(path, sizeof(path), "%s/tenants/t/2024-10-05.db", (const char *)*state);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/tenants/t/2024-10-06.db", (const char *)*state);
	assert_int_equal(mkfifo(path, 0644), 0);
	store = store_open_plain(*state);
	assert_string_equal(merge_all(store, "{}"), "0 main;work 3");
	store_close(store);
}

/* 128 descriptors: less than one for each tenant. */
static void more_tenants_than_descriptors_write(void **state)
{
	struct rlimit before;
	struct rlimit few;
	struct store *store;
	char tenant[64];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ .rlim_cur = 128, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	store = store_open_plain(*state);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 150; i++) {
			(void)snprintf(tenant, sizeof(tenant), "t%d", i);
			append_one(store, tenant, NOON + round);
		}
	}
	store_close(store);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (int i = 0; i < 150; i++) {
		(void)snprintf(tenant, sizeof(tenant), "tenants/t%d/2024-10-04.db", i);
		assert_true(file_is_there(*state, tenant));
	}
}

static void a_writer_that_finds_damage_goes_on_in_a_new_file(void **state)
{
	struct store *store = store_open_plain(*state);

	append_one(store, "t", NOON);
	store_close(store);
	overwrite(*state, "tenants/t/2024-10-04.db", 0, "not a database, ");
	store = store_open_plain(*state);
	append_one(store, "t", NOON);
	assert_string_equal(merge_all(store, "{}"), "0 main;work 3");
	assert_true(file_is_there(*state, "tenants/t/2024-10-04.db.damaged"));
	store_close(store);
}

static void a_reader_leaves_a_damaged_window_where_it_is(void **state)
{
	struct store *store = store_open_plain(*state);

	append_one(store, "t", NOON);
	append_one(store, "t", NOON + DAY_NS);
	store_close(store);
	overwrite(*state, "tenants/t/2024-10-04.db", 0, "not a database, ");
	store = store_open_at(&(struct sqlite_store_options){ .path = *state, .read_only = true });
	assert_string_equal(merge_all(store, "{}"), "error 13");
	assert_string_equal(merge_all(store, "{}"), "0 main;work 3");
	store_close(store);
	assert_true(file_is_there(*state, "tenants/t/2024-10-04.db"));
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

/* ---- pressure ---- */

static void block_on(struct store_write *write, const struct error *err)
{
	struct waiting *waiting = write->context;

	(void)err;
	(void)pthread_mutex_lock(&waiting->lock); /* held by the test until it has filled up */
	waiting->left--;
	(void)pthread_cond_signal(&waiting->done);
	(void)pthread_mutex_unlock(&waiting->lock);
}

static void a_full_queue_refuses_and_what_it_took_is_committed(void **state)
{
	struct store *store = store_open_at(
		&(struct sqlite_store_options){ .path = *state, .queue_max_length = 3 });
	struct arena *arena = arena_new((size_t)1 << 24, NULL);
	const struct made made = a_profile("s", NOON);
	const struct series_profile profile = made_profile(arena, &made);
	struct store_write writes[64];
	struct waiting waiting;
	struct error err = { 0 };
	size_t taken = 0;

	waiting_init(&waiting, 64);
	(void)pthread_mutex_lock(&waiting.lock);
	/* the first answer blocks the writer, so the rest gathers */
	for (; taken < 64; taken++) {
		writes[taken] = (struct store_write){
			.tenant = STR("t"),
			.profiles = &profile,
			.count = 1,
			.done = block_on,
			.context = &waiting,
		};
		if (store_append(store, &writes[taken], &err) < 0)
			break;
	}
	assert_in_range(taken, 3, 63);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	waiting.left = taken;
	(void)pthread_mutex_unlock(&waiting.lock);
	waiting_wait(&waiting);
	assert_int_equal(sum_of_work(store), (int64_t)taken * 3);
	store_close(store);
	arena_free(arena);
}

static void memory_is_counted_and_given_back(void **state)
{
	struct budget budget;
	struct store *store;

	budget_init(&budget, (size_t)64 << 20);
	store = store_open_at(&(struct sqlite_store_options){ .path = *state, .budget = &budget });
	append_one(store, "t", NOON);
	assert_string_equal(merge_all(store, "{}"), "0 main;work 3");
	assert_true(budget_used(&budget) > 0);
	store_close(store);
	assert_int_equal(budget_used(&budget), 0);
}

/* Appends until the answer is another one than UNAVAILABLE. */
static enum error_code append_patiently(struct store *store, const struct made *made)
{
	enum error_code code;

	do {
		code = append_made(store, "t", made);
	} while (code == ERROR_UNAVAILABLE);
	return code;
}

static void without_memory_writes_are_refused_until_there_is_some(void **state)
{
	const struct made made = a_profile("s", NOON);
	struct budget budget;
	struct store *store;

	budget_init(&budget, (size_t)1 << 20);
	store = store_open_at(&(struct sqlite_store_options){ .path = *state, .budget = &budget });
	append_one(store, "t", NOON);
	/* somebody else takes the rest */
	while (budget_take(&budget, 64))
		;
	assert_int_equal(append_made(store, "t", &made), ERROR_UNAVAILABLE);
	assert_string_equal(merge_all(store, "{}"), "error 11");
	budget_give(&budget, (size_t)512 << 10);
	assert_int_equal(append_patiently(store, &made), ERROR_NONE);
	assert_string_equal(merge_all(store, "{}"), "0 main;work 6");
	store_close(store);
	assert_in_range(budget_used(&budget), 1, (size_t)512 << 10);
}

/* ---- many threads ---- */

#define APPENDERS     3
#define READERS       2
#define APPENDS       60
#define ROWS_A_THREAD 20

struct crowd {
	struct store *store;
	int number;
	_Atomic int *left;
};

static void *append_many(void *argument)
{
	struct crowd *crowd = argument;

	for (int i = 0; i < APPENDS; i++) {
		struct made_row rows[ROWS_A_THREAD];
		char stacks[ROWS_A_THREAD][48];
		struct made made = {
			.service = crowd->number % 2 ? "even" : "odd",
			.types = { "cpu" },
			.time = NOON + i % 2 * DAY_NS + i,
			.rows = rows,
			.row_count = ROWS_A_THREAD,
		};

		for (int j = 0; j < ROWS_A_THREAD; j++) {
			(void)snprintf(stacks[j], sizeof(stacks[j]), "main;f%d;g%d", j % 4,
			               i * ROWS_A_THREAD + j);
			rows[j] = (struct made_row){ stacks[j], { 1 }, 0 };
		}
		if (append_made(crowd->store, "t", &made) != ERROR_NONE)
			abort();
	}
	atomic_fetch_sub(crowd->left, 1);
	return NULL;
}

static int sum_up(void *context, const struct stack_sums *sums, struct error *err)
{
	int64_t *total = context;

	(void)err;
	for (size_t i = 0; i < sums->count; i++) {
		char text[100];

		stack_text(sums->symbols, sums->stacks[i], text, sizeof(text));
		*total += sums->sums[i];
	}
	return 0;
}

static int64_t total_of(struct store *store)
{
	struct arena *arena = arena_new((size_t)64 << 20, NULL);
	const struct store_query query = {
		.tenant = STR("t"),
		.range = { 0, INT64_MAX },
		.arena = arena,
	};
	struct error err = { 0 };
	int64_t total = 0;

	if (store_merge(store, &query, NULL, sum_up, &total, &err) < 0)
		abort();
	arena_free(arena);
	return total;
}

static void *read_many(void *argument)
{
	struct crowd *crowd = argument;
	int64_t before = 0;

	while (atomic_load(crowd->left) > 0) {
		const int64_t total = total_of(crowd->store);

		/* what was there stays there */
		if (total < before)
			abort();
		before = total;
	}
	return NULL;
}

static void many_threads_append_and_read_at_once(void **state)
{
	struct store *store = store_open_plain(*state);
	_Atomic int left = APPENDERS;
	struct crowd crowd[APPENDERS + READERS];
	pthread_t threads[APPENDERS + READERS];

	for (int i = 0; i < APPENDERS + READERS; i++) {
		crowd[i] = (struct crowd){ store, i, &left };
		assert_int_equal(pthread_create(&threads[i], NULL,
		                                i < APPENDERS ? append_many : read_many, &crowd[i]),
		                 0);
	}
	for (int i = 0; i < APPENDERS + READERS; i++)
		(void)pthread_join(threads[i], NULL);
	assert_int_equal(total_of(store), APPENDERS * APPENDS * ROWS_A_THREAD);
	store_close(store);
	store = store_open_plain(*state);
	assert_int_equal(total_of(store), APPENDERS * APPENDS * ROWS_A_THREAD);
	store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_second_writer_is_refused),
		TEST(a_reader_beside_the_writer_sees_what_is_committed),
		TEST(a_reader_follows_pages_that_are_written_anew),
		TEST(a_reader_finds_no_store_where_none_is),
		TEST(a_newer_format_is_refused),
		TEST(network_file_systems_are_known_by_name),
		TEST(old_days_go),
		TEST(over_the_budget_the_oldest_days_go_and_today_stays),
		TEST(the_log_is_moved_while_profiles_come),
		TEST(a_damaged_window_is_set_aside_and_the_rest_is_served),
		TEST(a_window_of_a_later_format_is_set_aside_and_the_rest_is_served),
		TEST(a_window_that_lost_its_numbers_is_set_aside),
		TEST(what_is_no_file_is_no_window),
		TEST(more_tenants_than_descriptors_write),
		TEST(a_writer_that_finds_damage_goes_on_in_a_new_file),
		TEST(a_reader_leaves_a_damaged_window_where_it_is),
		TEST(what_a_killed_process_answered_is_there),
		TEST(a_full_disk_is_said_and_reading_goes_on),
		TEST(a_full_queue_refuses_and_what_it_took_is_committed),
		TEST(memory_is_counted_and_given_back),
		TEST(without_memory_writes_are_refused_until_there_is_some),
		TEST(many_threads_append_and_read_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
