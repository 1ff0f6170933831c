#include <unistd.h>

#include "storage/store_folder.h"
#include "tests/unit/storage/care_fixture.h"

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_second_writer_is_refused),
		TEST(a_reader_beside_the_writer_sees_what_is_committed),
		TEST(a_reader_follows_pages_that_are_written_anew),
		TEST(a_reader_finds_no_store_where_none_is),
		TEST(network_file_systems_are_known_by_name),
		TEST(a_reader_leaves_a_damaged_window_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
