#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/storage/care_fixture.h"

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

/* A pipe has nobody who writes: whoever opens it waits, and with the writer everybody. */
static void what_is_no_file_stops_nobody(void **state)
{
	struct store *store = store_open_plain(*state);
	const struct made other_day = a_profile("s", NOON + DAY_NS);
	char path[4200];

	append_one(store, "t", NOON);
	(void)snprintf(path, sizeof(path), "%s/tenants/t/2024-10-05.db", (char *)*state);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(append_made(store, "t", &other_day), ERROR_IO);
	append_one(store, "t", NOON + 1);
	assert_memory_equal(merge_all(store, "{}"), "0 main;work ", 12);
	assert_int_equal(unlink(path), 0);
	append_one(store, "t", NOON + DAY_NS);
	store_close(store);
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
	put_number(*state, "tenants/t/2024-10-04.db", 60, (const uint8_t[]){ 0, 0, 0, 4 });
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

/* Puts another text of the same length in the place of one that stands in the file once or more. */
static void replace_text(const char *folder, const char *name, const char *from, const char *to)
{
	static char bytes[1 << 20];
	const size_t length = strlen(from);
	bool replaced = false;
	char path[4200];
	size_t count;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r+e");
	assert_non_null(file);
	count = fread(bytes, 1, sizeof(bytes), file);
	for (size_t i = 0; i + length <= count; i++) {
		if (memcmp(bytes + i, from, length) == 0) {
			memcpy(bytes + i, to, length);
			replaced = true;
		}
	}
	assert_true(replaced);
	assert_int_equal(fseek(file, 0, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	assert_int_equal(fclose(file), 0);
}

static void a_window_with_other_tables_is_set_aside(void **state)
{
	struct store *store = store_open_plain(*state);

	append_one(store, "t", NOON);
	append_one(store, "t", NOON + DAY_NS);
	store_close(store);
	replace_text(*state, "tenants/t/2024-10-04.db", "totals BLOB", "totems BLOB");
	store = store_open_plain(*state);
	assert_string_equal(merge_all(store, "{}"), "error 13");
	assert_string_equal(merge_all(store, "{}"), "0 main;work 3");
	assert_true(file_is_there(*state, "tenants/t/2024-10-04.db.damaged"));
	store_close(store);
}

static int count_setting(void *context, const struct store_setting *setting, struct error *err)
{
	(void)setting;
	(void)err;
	++*(int *)context;
	return 0;
}

static enum error_code put_one(struct store *store, const char *name)
{
	struct store_setting setting = { str_of(name), STR("value"), 1000 };
	struct error err = { 0 };

	(void)!store_put_setting(store, STR("t"), &setting, &err);
	return err.code;
}

/* How many there are, or minus the error's code. */
static int settings_count(struct store *store)
{
	struct error err = { 0 };
	int count = 0;

	if (store_settings(store, STR("t"), count_setting, &count, &err) < 0)
		return -(int)err.code;
	return count;
}

static void damaged_settings_are_set_aside_by_who_reads_them(void **state)
{
	struct store *store = store_open_plain(*state);
	struct store_usage usage;

	assert_int_equal(put_one(store, "one"), ERROR_NONE);
	assert_int_equal(put_one(store, "two"), ERROR_NONE);
	assert_int_equal(settings_count(store), 2);
	store_close(store);
	overwrite(*state, "tenants/t/settings.db", 0, "not a database, ");
	store = store_open_plain(*state);
	assert_int_equal(settings_count(store), -ERROR_CORRUPT);
	store_usage(store, &usage);
	assert_int_equal(usage.damaged_windows, 1);
	assert_true(file_is_there(*state, "tenants/t/settings.db.damaged"));
	assert_int_equal(settings_count(store), 0);
	assert_int_equal(put_one(store, "three"), ERROR_NONE);
	assert_int_equal(settings_count(store), 1);
	store_close(store);
}

static void damaged_settings_are_set_aside_by_who_writes_them(void **state)
{
	struct store *store = store_open_plain(*state);

	assert_int_equal(put_one(store, "one"), ERROR_NONE);
	store_close(store);
	replace_text(*state, "tenants/t/settings.db", "modified INTEGER", "modifies INTEGER");
	store = store_open_plain(*state);
	assert_int_equal(put_one(store, "two"), ERROR_NONE);
	assert_true(file_is_there(*state, "tenants/t/settings.db.damaged"));
	assert_int_equal(settings_count(store), 1);
	store_close(store);
}

static void what_is_no_folder_is_no_tenant(void **state)
{
	struct store *store = store_open_plain(*state);
	char path[4200];
	FILE *file;

	append_one(store, "t", NOON);
	store_close(store);
	(void)snprintf(path, sizeof(path), "%s/tenants/notes.txt", (const char *)*state);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
	store = store_open_plain(*state);
	assert_string_equal(merge_all(store, "{}"), "0 main;work 3");
	store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_newer_format_is_refused),
		TEST(a_damaged_window_is_set_aside_and_the_rest_is_served),
		TEST(what_is_no_file_stops_nobody),
		TEST(a_window_of_a_later_format_is_set_aside_and_the_rest_is_served),
		TEST(a_window_that_lost_its_numbers_is_set_aside),
		TEST(what_is_no_file_is_no_window),
		TEST(what_is_no_folder_is_no_tenant),
		TEST(a_window_with_other_tables_is_set_aside),
		TEST(damaged_settings_are_set_aside_by_who_reads_them),
		TEST(damaged_settings_are_set_aside_by_who_writes_them),
		TEST(a_writer_that_finds_damage_goes_on_in_a_new_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
