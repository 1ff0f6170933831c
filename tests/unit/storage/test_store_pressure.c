#include <sys/resource.h>

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

static int sum_up_paths(void *context, const struct path_sums *sums, struct error *err)
{
	const struct paths paths = path_table_view(sums->table);
	int64_t *total = context;

	(void)err;
	for (size_t i = 0; i < sums->count; i++) {
		/* "main" is above all of them */
		uint32_t path = sums->paths[i];

		while (SYMBOLS_AT(paths.paths, path)->parent != 0)
			path = SYMBOLS_AT(paths.paths, path)->parent;
		if (!str_equals(*SYMBOLS_AT(paths.names, SYMBOLS_AT(paths.paths, path)->name),
		                "main"))
			abort();
		*total += sums->sums[i];
	}
	return 0;
}

enum way {
	BY_STACK,
	BY_PATH,
};

static int64_t total_of(struct store *store, enum way way)
{
	struct arena *arena = arena_new((size_t)64 << 20, NULL);
	const struct store_query query = {
		.tenant = STR("t"),
		.range = { 0, INT64_MAX },
		.arena = arena,
	};
	struct error err = { 0 };
	int64_t total = 0;

	if ((way == BY_STACK
	             ? store_merge(store, &query, NULL, sum_up, &total, &err)
	             : store_merge_paths(store, &query, NULL, sum_up_paths, &total, &err)) < 0)
		abort();
	arena_free(arena);
	return total;
}

static void *read_many(void *argument)
{
	struct crowd *crowd = argument;
	int64_t before = 0;

	for (int i = 0; atomic_load(crowd->left) > 0; i++) {
		const int64_t total = total_of(crowd->store, i % 2 ? BY_STACK : BY_PATH);

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
	assert_int_equal(total_of(store, BY_STACK), APPENDERS * APPENDS * ROWS_A_THREAD);
	assert_int_equal(total_of(store, BY_PATH), APPENDERS * APPENDS * ROWS_A_THREAD);
	store_close(store);
	store = store_open_plain(*state);
	assert_int_equal(total_of(store, BY_PATH), APPENDERS * APPENDS * ROWS_A_THREAD);
	store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(more_tenants_than_descriptors_write),
		TEST(a_full_queue_refuses_and_what_it_took_is_committed),
		TEST(memory_is_counted_and_given_back),
		TEST(without_memory_writes_are_refused_until_there_is_some),
		TEST(many_threads_append_and_read_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
