#include "storage/page.h"
#include "storage/sample_page.h"
#include "storage/symbol_pages.h"
#include "tests/unit/storage/check_fixture.h"

static void put(struct database *database, const char *sql, int64_t id, int64_t count,
                const struct strbuf *payload)
{
	struct statement *statement = NULL;
	struct error err = { 0 };
	struct strbuf body;

	strbuf_init(&body, (size_t)1 << 20);
	page_seal(strbuf_view(payload), 1, &body);
	assert_int_equal(database_prepare(database, sql, &statement, &err), 0);
	statement_bind_int(statement, 1, id);
	statement_bind_int(statement, 2, count);
	statement_bind_bytes(statement, 3, strbuf_view(&body));
	if (statement_run(statement, &err) < 0)
		fail_msg("%s", err.message);
	statement_free(statement);
	strbuf_fini(&body);
}

/* A page of the kind with what stands in the table from `from` on, at the id `at`. */
static void put_page(struct database *database, const struct symbol_table *table,
                     enum page_kind kind, uint32_t at, uint32_t from, uint32_t end)
{
	struct strbuf payload;

	strbuf_init(&payload, (size_t)1 << 20);
	symbol_page_encode(table, kind, from, end, &payload);
	put(database, "INSERT INTO page VALUES(?1, ?2, ?3)", (int64_t)kind << 32 | at, end - from,
	    &payload);
	strbuf_fini(&payload);
}

/* ---- symbols ---- */

static void a_store_that_was_written_is_whole(void **state)
{
	struct store *store = store_open_plain(*state);
	struct database *database;

	append_one(store, "t", NOON);
	append_one(store, "t", NOON + 1);
	store_close(store);
	database = open_window(*state);
	assert_string_equal(check(database), "");
	database_close(database);
}

/* Strings 1 "a", 2 "b"; function 0; location 0; stacks 1 and 2 below each other. */
static struct symbol_table *a_table(void)
{
	struct symbol_table *table = symbol_table_new();
	const struct symbol_line line = { .function = 0, .line = 3 };

	(void)symbol_table_add_string(table, STR("a"));
	(void)symbol_table_add_string(table, STR("b"));
	(void)symbol_table_add_function(table, &(struct symbol_function){ .name = 1 });
	(void)symbol_table_add_mapping(table, &(struct symbol_mapping){ .file = 2 });
	(void)symbol_table_add_location(table, 0, 16, &line, 1);
	(void)symbol_table_add_stack(table, 0, 0);
	(void)symbol_table_add_stack(table, 1, 0);
	return table;
}

static struct database *window_of(const char *folder, const struct symbol_table *table)
{
	char path[4200];
	struct database *database;

	(void)snprintf(path, sizeof(path), "%s/tenants", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/tenants/t", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	database = open_window(folder);
	put_page(database, table, PAGE_STRINGS, 1, 1, 3);
	put_page(database, table, PAGE_FUNCTIONS, 0, 0, 1);
	put_page(database, table, PAGE_MAPPINGS, 0, 0, 1);
	put_page(database, table, PAGE_LOCATIONS, 0, 0, 1);
	put_page(database, table, PAGE_STACKS, 1, 1, 3);
	return database;
}

static void symbols_that_are_there_twice(void **state)
{
	struct symbol_table *table = a_table();
	struct database *database = window_of(*state, table);

	assert_string_equal(check(database), "");
	put_page(database, table, PAGE_STRINGS, 3, 2, 3);
	put_page(database, table, PAGE_FUNCTIONS, 1, 0, 1);
	put_page(database, table, PAGE_MAPPINGS, 1, 0, 1);
	put_page(database, table, PAGE_LOCATIONS, 1, 0, 1);
	assert_string_equal(check(database), "page: string 3 is equal to an earlier one | "
	                                     "page: function 1 is equal to an earlier one | "
	                                     "page: mapping 1 is equal to an earlier one | "
	                                     "page: location 1 is equal to an earlier one");
	database_close(database);
	symbol_table_free(table);
}

static void the_empty_string_is_there_from_the_start(void **state)
{
	struct symbol_table *table = a_table();
	struct database *database = window_of(*state, table);

	put_page(database, table, PAGE_STRINGS, 3, 0, 1);
	assert_string_equal(check(database), "page: string 3 is equal to an earlier one");
	database_close(database);
	symbol_table_free(table);
}

static void a_stack_that_is_there_twice(void **state)
{
	struct symbol_table *table = a_table();
	struct database *database;

	(void)symbol_table_add_stack(table, 1, 0); /* as stack 2 */
	database = window_of(*state, table);
	put_page(database, table, PAGE_STACKS, 3, 3, 4);
	assert_string_equal(check(database), "page: stack 3 is equal to an earlier one");
	database_close(database);
	symbol_table_free(table);
}

static void pages_that_overlap_or_leave_gaps(void **state)
{
	struct symbol_table *table = a_table();
	struct database *database;

	(void)symbol_table_add_string(table, STR("c"));
	(void)symbol_table_add_string(table, STR("d"));
	database = window_of(*state, table);
	put_page(database, table, PAGE_STRINGS, 2, 2, 4); /* 2 once more, and 3 */
	assert_string_equal(check(database), "page 1/2: overlaps the page before it by 1 strings");
	run_sql(database, "DELETE FROM page WHERE id = (1 << 32 | 2)");
	put_page(database, table, PAGE_STRINGS, 7, 4, 5);
	assert_string_equal(check(database), "page 1/7: 4 strings before it are missing");
	database_close(database);
	symbol_table_free(table);
}

/* A parent that is no smaller number: the distance 0. */
static void a_child_before_its_parent(void **state)
{
	struct symbol_table *table = a_table();
	struct database *database = window_of(*state, table);
	struct strbuf payload;

	strbuf_init(&payload, 16);
	strbuf_add(&payload, "\0\0", 2);
	put(database, "INSERT INTO page VALUES(?1, ?2, ?3)", (int64_t)PAGE_STACKS << 32 | 3, 1,
	    &payload);
	strbuf_fini(&payload);
	assert_string_equal(check(database), "page 5/3: page 5/3 of 1 entries is damaged");
	database_close(database);
	symbol_table_free(table);
}

/* What follows an absurd number is told, and takes no memory. */
static void numbers_that_cannot_be(void **state)
{
	struct symbol_table *table = a_table();
	struct database *database = window_of(*state, table);

	put_page(database, table, PAGE_STRINGS, UINT32_C(1) << 29, 2, 3);
	assert_string_equal(check(database),
	                    "page 1/536870912: 536870909 strings before it are missing | "
	                    "page: strings behind the damaged ones cannot be checked");
	run_sql(database, "DELETE FROM page WHERE id = ((1 << 32) | (1 << 29))");
	run_sql(database, "INSERT INTO series VALUES(1 << 40, x'00')");
	assert_string_equal(check(database), "series 1099511627776: does not follow id -1");
	database_close(database);
	symbol_table_free(table);
}

/* ---- rows ---- */

/* With spans that differ, and without any: a sender's locations may be equal. */
static void a_stack_may_have_several_rows(void **state)
{
	static const uint32_t stacks[] = { 1, 2, 2 };
	static const int64_t ones[] = { 1, 2, 3 };
	static const int64_t *const values[] = { ones };
	static const uint64_t spans[] = { 0, 7, 8 };
	struct sample_columns columns = { 3, 1, stacks, values, spans, NULL };
	struct symbol_table *table = a_table();
	struct database *database = window_of(*state, table);
	struct strbuf payload;

	strbuf_init(&payload, 4096);
	run_sql(database,
	        "INSERT INTO series VALUES(0, x'00');"
	        "INSERT INTO series_group VALUES(0, x'00');"
	        "INSERT INTO profile VALUES(0, 1728043200000000000, 0, zeroblob(16), NULL,"
	        " 0, 0, x'06', 1)");
	sample_page_encode(&columns, &payload);
	put(database, "INSERT OR REPLACE INTO sample SELECT ?1, ?3 WHERE ?2", 1, 1, &payload);
	assert_string_equal(check(database), "");
	columns.span_ids = NULL;
	strbuf_reset(&payload);
	sample_page_encode(&columns, &payload);
	put(database, "INSERT OR REPLACE INTO sample SELECT ?1, ?3 WHERE ?2", 1, 1, &payload);
	assert_string_equal(check(database), "");
	strbuf_fini(&payload);
	database_close(database);
	symbol_table_free(table);
}

/* Sums wrap as totals do: 2^63 - 1 and 2 make -2^63 + 1. */
static void totals_wrap(void **state)
{
	static const uint32_t stacks[] = { 1, 2 };
	static const int64_t large[] = { INT64_MAX, 2 };
	static const int64_t *const values[] = { large };
	const struct sample_columns columns = { 2, 1, stacks, values, NULL, NULL };
	struct symbol_table *table = a_table();
	struct database *database = window_of(*state, table);
	struct strbuf payload;

	strbuf_init(&payload, 4096);
	sample_page_encode(&columns, &payload);
	run_sql(database,
	        "INSERT INTO series VALUES(0, x'00'); INSERT INTO series_group VALUES(0, x'00');"
	        "INSERT INTO profile VALUES(0, 1728043200000000000, 0, zeroblob(16), NULL,"
	        " 0, 0, x'81808080808080808001', 1)");
	put(database, "INSERT INTO sample SELECT ?1, ?3 WHERE ?2", 1, 1, &payload);
	assert_string_equal(check(database), "");
	strbuf_fini(&payload);
	database_close(database);
	symbol_table_free(table);
}

static void a_sealed_file_has_no_fresh_profiles_and_no_origins(void **state)
{
	struct store *store = store_open_plain(*state);
	struct database *database;
	struct error err = { 0 };

	append_one(store, "t", NOON);
	append_one(store, "t", NOON + 1);
	store_close(store);
	database = open_window(*state);
	assert_int_equal(window_file_add_blocks(database, &err), 0);
	run_sql(database, "PRAGMA user_version=3");
	assert_string_equal(check(database),
	                    "profile: the file is sealed, and has 2 fresh profiles | "
	                    "sample: the file is sealed, and has 2 samples of fresh profiles");
	database_close(database);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_store_that_was_written_is_whole),
		TEST(symbols_that_are_there_twice),
		TEST(the_empty_string_is_there_from_the_start),
		TEST(a_stack_that_is_there_twice),
		TEST(pages_that_overlap_or_leave_gaps),
		TEST(a_child_before_its_parent),
		TEST(numbers_that_cannot_be),
		TEST(a_stack_may_have_several_rows),
		TEST(totals_wrap),
		TEST(a_sealed_file_has_no_fresh_profiles_and_no_origins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
