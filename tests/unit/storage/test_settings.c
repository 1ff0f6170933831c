#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/database.h"
#include "tests/unit/storage/store_fixture.h"

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

static int add_setting(void *context, const struct store_setting *setting, struct error *err)
{
	char line[100];

	(void)err;
	(void)snprintf(line, sizeof(line), "%.*s=%.*s@%lld", STR_ARGS(setting->name),
	               STR_ARGS(setting->value), (long long)setting->modified_unix_ms);
	answer_add(context, line);
	return 0;
}

static const char *settings_of(struct store *store, const char *tenant)
{
	static struct answer answer;
	struct error err = { 0 };

	answer.count = 0;
	assert_int_equal(store_settings(store, str_of(tenant), add_setting, &answer, &err), 0);
	/* the store sorts; so the lines are as they came */
	for (size_t i = 1; i < answer.count; i++)
		assert_true(strcmp(answer.lines[i - 1], answer.lines[i]) < 0);
	return answer_text(&answer);
}

static enum error_code put(struct store *store, const char *name, const char *value, int64_t when)
{
	struct store_setting setting = { str_of(name), str_of(value), when };
	struct error err = { 0 };

	(void)!store_put_setting(store, STR("t"), &setting, &err);
	if (err.code == ERROR_EXISTS) {
		char expected[100];

		(void)snprintf(expected, sizeof(expected),
		               "failed to update %s: newer update already written", name);
		assert_string_equal(err.message, expected);
	}
	return err.code;
}

static void settings_are_kept_by_tenant_and_name(void **state)
{
	struct store *store = store_open_plain(*state);

	assert_string_equal(settings_of(store, "t"), "");
	assert_int_equal(put(store, "b", "2", 20), ERROR_NONE);
	assert_int_equal(put(store, "a", "1", 10), ERROR_NONE);
	assert_string_equal(settings_of(store, "t"), "a=1@10 | b=2@20");
	assert_string_equal(settings_of(store, "u"), "");
	assert_int_equal(put(store, "a", "3", 11), ERROR_NONE);
	store_close(store);
	store = store_open_plain(*state);
	assert_string_equal(settings_of(store, "t"), "a=3@11 | b=2@20");
	store_close(store);
}

static void an_older_change_does_not_overwrite_a_newer_one(void **state)
{
	struct store *store = store_open_plain(*state);

	assert_int_equal(put(store, "a", "1", 10), ERROR_NONE);
	assert_int_equal(put(store, "a", "2", 9), ERROR_EXISTS);
	assert_int_equal(put(store, "a", "3", 10), ERROR_NONE);
	assert_string_equal(settings_of(store, "t"), "a=3@10");
	store_close(store);
}

static void a_setting_without_a_time_is_of_now(void **state)
{
	struct store *store = store_open_plain(*state);
	struct store_setting setting = { STR("a"), STR("1"), 0 };
	const int64_t before = clock_unix_ns() / NS_PER_MS;
	struct error err = { 0 };

	assert_int_equal(store_put_setting(store, STR("t"), &setting, &err), 0);
	assert_in_range(setting.modified_unix_ms, before, before + 60000);
	store_close(store);
}

static void settings_are_removed_unless_they_are_of_the_future(void **state)
{
	struct store *store = store_open_plain(*state);
	struct error err = { 0 };

	assert_int_equal(store_remove_setting(store, STR("t"), STR("nothing"), &err), 0);
	assert_int_equal(put(store, "a", "1", 10), ERROR_NONE);
	assert_int_equal(put(store, "b", "1", INT64_MAX), ERROR_NONE);
	assert_int_equal(store_remove_setting(store, STR("t"), STR("a"), &err), 0);
	assert_int_equal(store_remove_setting(store, STR("t"), STR("b"), &err), -1);
	assert_int_equal(err.code, ERROR_EXISTS);
	assert_string_equal(err.message, "failed to delete b: newer update already written");
	assert_int_equal(strncmp(settings_of(store, "t"), "b=1@", 4), 0);
	store_close(store);
}

/* A process that dies in the middle of a change, when some of it lies in the file already. */
static void die_while_changing(const char *path)
{
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		struct database *database = NULL;
		struct error err = { 0 };

		if (database_open(path, DATABASE_WRITE, &database, &err) < 0 ||
		    database_run(database,
		                 "PRAGMA cache_size=10; BEGIN; UPDATE setting SET value = '2';"
		                 "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL"
		                 " SELECT i + 1 FROM n WHERE i < 100)"
		                 "INSERT INTO setting SELECT 'x' || i, zeroblob(10000), 0 FROM n",
		                 &err) < 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void a_change_that_was_cut_short_is_taken_back_by_whoever_reads(void **state)
{
	static const char file[] = "tenants/t/settings.db";
	static const char journal[] = "tenants/t/settings.db-journal";
	struct store *store = store_open_plain(*state);
	char path[4200];

	assert_int_equal(put(store, "a", "1", 10), ERROR_NONE);
	store_close(store);
	(void)snprintf(path, sizeof(path), "%s/%s", (const char *)*state, file);
	die_while_changing(path);
	assert_true(file_is_there(*state, journal));
	store = store_open_plain(*state);
	assert_string_equal(settings_of(store, "t"), "a=1@10");
	assert_false(file_is_there(*state, journal));
	store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(settings_are_kept_by_tenant_and_name),
		TEST(an_older_change_does_not_overwrite_a_newer_one),
		TEST(a_setting_without_a_time_is_of_now),
		TEST(settings_are_removed_unless_they_are_of_the_future),
		TEST(a_change_that_was_cut_short_is_taken_back_by_whoever_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
