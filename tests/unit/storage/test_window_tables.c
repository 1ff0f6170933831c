/* Symbols of a window are read by those who need them, and by nobody else. */
#include "storage/database.h"
#include "tests/unit/storage/care_fixture.h"

#define NAMES       50
#define NAME_LENGTH 80

static size_t cache_bytes(struct store *store)
{
	struct store_usage usage;

	store_usage(store, &usage);
	return usage.cache_bytes;
}

/* One profile of many stacks, each of a function with a long name of its own. */
static void append_names(struct store *store)
{
	static char names[NAMES][NAME_LENGTH + 1];
	struct made_row rows[NAMES];
	const struct made made = { "s", { "cpu" }, NOON, rows, NAMES, 0, 0 };

	for (int i = 0; i < NAMES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%0*d", NAME_LENGTH, i);
		rows[i] = (struct made_row){ names[i], { 1 }, 0 };
	}
	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
}

static void labels_and_totals_are_told_without_symbols(void **state)
{
	struct store *store = store_open_plain(*state);
	size_t before;

	append_names(store);
	store_close(store);
	store = store_open_plain(*state);
	assert_string_equal(ask(store, ASK_SERIES, &(struct asked){ .start = INT64_MIN }), "s/cpu");
	assert_string_equal(scan_all(store, "{}"), "s/cpu +0h 50");
	before = cache_bytes(store);
	assert_true(strlen(merge_all(store, "{}")) > (size_t)NAMES * NAME_LENGTH);
	/* each name is in memory now */
	assert_true(cache_bytes(store) >= before + (size_t)NAMES * NAME_LENGTH);
	store_close(store);
}

static void damaged_symbols_do_not_hide_labels(void **state)
{
	struct database *database = NULL;
	struct store *store = store_open_plain(*state);
	struct error err = { 0 };
	char path[4200];

	append_one(store, "t", NOON);
	store_close(store);
	(void)snprintf(path, sizeof(path), "%s/tenants/t/2024-10-04.db", (const char *)*state);
	assert_int_equal(database_open(path, DATABASE_WRITE, &database, &err), 0);
	assert_int_equal(database_run(database, "UPDATE page SET body = x'0000000000'", &err), 0);
	database_close(database);
	store = store_open_plain(*state);
	assert_string_equal(ask(store, ASK_SERIES, &(struct asked){ .start = INT64_MIN }), "s/cpu");
	assert_string_equal(scan_all(store, "{}"), "s/cpu +0h 3");
	assert_string_equal(merge_all(store, "{}"), "error 13");
	assert_true(file_is_there(*state, "tenants/t/2024-10-04.db.damaged"));
	store_close(store);
}

/* Who asks for labels first, then for stacks, then for labels again, always sees all. */
static void a_reader_beside_the_writer_follows_both_parts(void **state)
{
	struct store *writer = store_open_plain(*state);
	struct store *reader;

	append_one(writer, "t", NOON);
	reader = store_open_at(&(struct sqlite_store_options){ .path = *state, .read_only = true });
	for (int i = 0; i < 4; i++) {
		char service[16];
		char stack[16];
		char expected[64];
		const struct made_row row = { stack, { 5 }, 0 };
		const struct made made = { service, { "cpu" }, NOON + 1 + i, &row, 1, 0, 0 };
		const struct asked asked = { .start = NOON + 1 + i, .end = NOON + 1 + i };

		(void)snprintf(service, sizeof(service), "s%d", i);
		(void)snprintf(stack, sizeof(stack), "main;f%d", i);
		assert_int_equal(append_made(writer, "t", &made), ERROR_NONE);
		(void)snprintf(expected, sizeof(expected), "s%d/cpu", i);
		assert_string_equal(ask(reader, ASK_SERIES, &asked), expected);
		(void)snprintf(expected, sizeof(expected), "0 main;f%d 5", i);
		assert_string_equal(ask(reader, ASK_MERGE, &asked), expected);
	}
	store_close(reader);
	store_close(writer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(labels_and_totals_are_told_without_symbols),
		TEST(damaged_symbols_do_not_hide_labels),
		TEST(a_reader_beside_the_writer_follows_both_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
