#include "storage/page.h"
#include "tests/unit/storage/check_fixture.h"

/*
 * Two blocks, of eleven and twelve o'clock: three profiles of one series each, with 3, 3 and
 * 3 samples of main;work. Hours count from 1970: day 20000 begins with hour 480000.
 */
#define FIRST  "block 0/480011/0"
#define SECOND "block 0/480012/0"

static void append_at(struct store *store, int64_t time, uint64_t origin)
{
	struct made made = a_profile("s", time);

	made.origin = origin;
	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
}

static struct database *window_with_blocks(const char *folder)
{
	struct store *store = store_open_plain(folder); /* so that no block is made in between */
	struct error err = { 0 };

	for (int i = 0; i < 3; i++) {
		append_at(store, NOON - HOUR_NS + i, 100 + (uint64_t)i);
		append_at(store, NOON + i, 200 + (uint64_t)i);
	}
	store_close(store);
	store = store_open_at(
		&(struct sqlite_store_options){ .path = folder, .compact_after_ns = 1 });
	if (sqlite_store_compact(store, &err) < 0)
		fail_msg("%s", err.message);
	store_close(store);
	return open_window(folder);
}

static void blocks_that_were_made_are_whole(void **state)
{
	struct database *database = window_with_blocks(*state);
	int64_t blocks = 0;
	struct error err = { 0 };

	assert_int_equal(database_number(database, "SELECT count(*) FROM block", 0, &blocks, &err),
	                 0);
	assert_int_equal(blocks, 2);
	assert_string_equal(check(database), "");
	database_close(database);
}

/* What is told of a change, among other things. */
static void tells(struct database *database, const char *change, const char *wanted)
{
	const char *told;

	run_sql(database, change);
	told = check(database);
	if (!strstr(told, wanted))
		fail_msg("%s: \"%s\" lacks \"%s\"", change, told, wanted);
}

/* One window a change: it is not whole afterwards. */
static void told_of(void **state, const char *change, const char *wanted)
{
	struct database *database = window_with_blocks(*state);

	tells(database, change, wanted);
	database_close(database);
	folder_drop(*state);
	*state = folder_make();
}

static void bodies_that_are_damaged_or_missing(void **state)
{
	static const char *const columns[] = { "heads", "origins", "sums", "detail" };

	for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
		char sql[200];

		(void)snprintf(sql, sizeof(sql),
		               "UPDATE block_page SET body = CAST(substr(body, 1, length(body) - 1)"
		               " AS BLOB) WHERE id = (SELECT %s FROM block LIMIT 1)",
		               columns[i]);
		told_of(state, sql, FIRST ": ");
		(void)snprintf(sql, sizeof(sql),
		               "DELETE FROM block_page WHERE id = (SELECT %s FROM block LIMIT 1)",
		               columns[i]);
		told_of(state, sql, FIRST ": block 0/480011/0: a body is missing");
	}
}

static void bodies_of_nobody_and_of_two(void **state)
{
	told_of(state, "INSERT INTO block_page VALUES(99, x'00')",
	        "block_page 99: belongs to no block");
	told_of(state, "UPDATE block SET heads = 1", "belongs to two blocks");
}

static void rows_that_say_something_else(void **state)
{
	told_of(state, "UPDATE block SET profiles = 4 WHERE hour = 480012",
	        SECOND ": block 0/480012/0: heads are not those of its row");
	told_of(state, "UPDATE block SET profiles = 0 WHERE hour = 480012",
	        "block: block 0/480012/0: its number of profiles is none");
	told_of(state, "UPDATE block SET last_time = last_time + 1 WHERE hour = 480012",
	        SECOND ": its profiles are of 1728043200000000000 to 1728043200000000002, its row "
	               "says 1728043200000000000 to 1728043200000000003");
	told_of(state, "UPDATE block SET first_time = first_time + 1 WHERE hour = 480012",
	        SECOND
	        ": profile 0: its time, 1728043200000000000, is outside of what the row says");
	told_of(state, "UPDATE block SET hour = 480013 WHERE hour = 480012",
	        "block: block 0/480013/0: its times are not of its hour");
	told_of(state, "UPDATE block SET family = 1 WHERE hour = 480012",
	        "block 1/480012/0: its group 0 is of family 0");
	told_of(state, "UPDATE block SET family = -1 WHERE hour = 480012",
	        "block: a row of hour 480012 is of no family");
	told_of(state, "DELETE FROM series_group; DELETE FROM series",
	        SECOND ": its group 0 is not there");
	told_of(state, "DELETE FROM page WHERE id >= (5 << 32)",
	        SECOND ": names stack 2, there are 1");
}

/* Each block has the sums of the other one. */
static void sums_and_totals_that_are_not_those_of_rows(void **state)
{
	static const struct made_row more[] = { { "main;work", { 9 }, 0 } };
	struct made made = a_profile("s", NOON - HOUR_NS);
	struct store *store;
	struct database *database;
	struct error err = { 0 };

	made.rows = more;
	store = store_open_at(
		&(struct sqlite_store_options){ .path = *state, .compact_after_ns = 1 });
	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	append_at(store, NOON, 1);
	assert_int_equal(sqlite_store_compact(store, &err), 0);
	store_close(store);
	database = open_window(*state);
	assert_string_equal(check(database), "");
	tells(database,
	      "CREATE TEMP TABLE both AS SELECT sum(sums) AS sums FROM block;"
	      "UPDATE block SET sums = (SELECT sums FROM both) - sums",
	      FIRST ": sums of group 0, series 0, are not those of its rows: stack 2");
	database_close(database);
}

static void details_that_are_not_those_of_heads(void **state)
{
	static const struct made_row more[] = { { "main;work", { 9 }, 0 } };
	struct made made = a_profile("s", NOON - HOUR_NS);
	struct store *store = store_open_at(
		&(struct sqlite_store_options){ .path = *state, .compact_after_ns = 1 });
	struct database *database;
	struct error err = { 0 };

	made.rows = more;
	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	append_at(store, NOON, 1);
	assert_int_equal(sqlite_store_compact(store, &err), 0);
	store_close(store);
	database = open_window(*state);
	tells(database,
	      "CREATE TEMP TABLE both AS SELECT sum(detail) AS detail FROM block;"
	      "UPDATE block SET detail = (SELECT detail FROM both) - detail",
	      FIRST ": profile 0: the total of series 0 is 9, its samples add up to 3");
	database_close(database);
}

static void a_profile_that_is_there_twice(void **state)
{
	told_of(state,
	        "INSERT INTO profile SELECT 0, 1728043200000000001, 0, zeroblob(16), NULL, 0, 0, x'', 1",
	        SECOND ": group 0, time 1728043200000000001, number 0 is there twice");
	told_of(state,
	        "INSERT INTO block SELECT family, hour, 1, first_time, last_time, profiles, groups,"
	        " heads, origins, sums, detail FROM block WHERE hour = 480012",
	        "block 0/480012/1: group 0, time 1728043200000000000, number 0 is there twice");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(blocks_that_were_made_are_whole),
		TEST(bodies_that_are_damaged_or_missing),
		TEST(bodies_of_nobody_and_of_two),
		TEST(rows_that_say_something_else),
		TEST(sums_and_totals_that_are_not_those_of_rows),
		TEST(details_that_are_not_those_of_heads),
		TEST(a_profile_that_is_there_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
