#include "storage/sqlite_store_parts.h"
#include "storage/window_memory.h"
#include "tests/unit/storage/model_check.h"

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

/* Adds a name that no table has yet. */
static void add_name(struct path_table *table, int number)
{
	char text[1024];
	const int length = snprintf(text, sizeof(text), "%01000d", number);

	path_table_lock(table);
	assert_int_not_equal(path_table_add_name(table, str_make(text, (size_t)length)), PATH_NONE);
	path_table_unlock(table);
}

static void queries_share_a_table_until_it_is_full(void **state)
{
	struct budget budget;
	struct shared_paths shared;
	struct path_table *first;
	struct path_table *again;
	struct path_table *next;

	(void)state;
	budget_init(&budget, (size_t)4 << 20); /* an eighth of it is 512 KiB */
	shared_paths_init(&shared, &budget);
	first = shared_paths_take(&shared);
	again = shared_paths_take(&shared);
	assert_ptr_equal(first, again);
	for (int i = 0; i < 1000; i++) /* of 1,000 bytes each */
		add_name(first, i);
	assert_true(shared_paths_bytes(&shared) > (size_t)512 << 10);
	assert_int_equal(budget_used(&budget), shared_paths_bytes(&shared));
	next = shared_paths_take(&shared);
	assert_ptr_not_equal(next, first);
	assert_int_not_equal(path_table_number(next), path_table_number(first));
	/* who holds the old one has it whole */
	assert_int_equal(path_table_name_count(first), 1001);
	assert_int_equal(path_table_name_count(next), 1);
	path_table_release(first);
	path_table_release(again);
	assert_true(budget_used(&budget) < (size_t)512 << 10);
	path_table_release(next);
	shared_paths_fini(&shared);
	assert_int_equal(budget_used(&budget), 0);
}

static void a_table_that_nobody_asks_for_goes(void **state)
{
	struct shared_paths shared;
	struct path_table *table;
	uint64_t number;

	(void)state;
	shared_paths_init(&shared, NULL);
	assert_int_equal(shared_paths_bytes(&shared), 0);
	table = shared_paths_take(&shared);
	number = path_table_number(table);
	add_name(table, 1);
	path_table_release(table);
	shared_paths_trim(&shared, 0); /* it was asked for since */
	assert_true(shared_paths_bytes(&shared) > 0);
	shared_paths_trim(&shared, INT64_MAX);
	assert_int_equal(shared_paths_bytes(&shared), 0);
	table = shared_paths_take(&shared);
	assert_int_not_equal(path_table_number(table), number);
	path_table_release(table);
	shared_paths_fini(&shared);
}

/* A window remembers paths of the table before: they are not those of the next one. */
static void windows_ask_again_when_the_table_is_another(void **state)
{
	struct store *store = store_open_plain(*state);
	struct sqlite_store *own = sqlite_store_of(store);
	const struct model_question all = { .start = INT64_MIN, .end = INT64_MAX };
	const struct model_question second = { .service = "b",
		                               .start = INT64_MIN,
		                               .end = INT64_MAX };
	struct model model = { 0 };

	for (int day = 0; day < 3; day++) {
		struct model_profile sent = {
			.service = "a",
			.pod = "pod-1",
			.types = { "cpu" },
			.type_count = 1,
			.time = NOON + day * DAY_NS,
			.rows = { { "main;work", { 1 + day }, 0, 0 },
			          { "main;idle", { 2 }, 0, 0 } },
			.row_count = 2,
		};

		model_send(&model, store, &sent, 1);
		(void)snprintf(sent.service, sizeof(sent.service), "b");
		(void)snprintf(sent.rows[0].stack, sizeof(sent.rows[0].stack), "other;%d", day);
		model_send(&model, store, &sent, 1);
	}
	for (int round = 0; round < 3; round++) {
		struct path_table *held = shared_paths_take(&own->windows.paths);

		/* in another order, so that other paths have the same numbers */
		model_check_all(&model, store, round % 2 ? &all : &second);
		model_check_all(&model, store, round % 2 ? &second : &all);
		window_set_trim(&own->windows, round == 0 ? INT64_MAX : 0);
		shared_paths_trim(&own->windows.paths, INT64_MAX);
		path_table_release(held);
	}
	store_close(store);
	model_fini(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_share_a_table_until_it_is_full),
		cmocka_unit_test(a_table_that_nobody_asks_for_goes),
		cmocka_unit_test_setup_teardown(windows_ask_again_when_the_table_is_another, setup,
		                                teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
