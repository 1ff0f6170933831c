#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "storage/window_name.h"

static void days_are_counted_down_below_zero(void **state)
{
	static const struct {
		int64_t time;
		int32_t day;
	} cases[] = {
		{ 0, 0 },
		{ -1, -1 },
		{ NS_PER_DAY - 1, 0 },
		{ NS_PER_DAY, 1 },
		{ -NS_PER_DAY, -1 },
		{ -NS_PER_DAY - 1, -2 },
		{ INT64_MAX, 106751 },
		{ INT64_MIN, -106752 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(day_of(cases[i].time), cases[i].day);
}

static void files_are_named_by_day_and_number(void **state)
{
	/* as `date -u -d @SECONDS +%F` gives them */
	static const struct {
		int32_t day;
		uint32_t number;
		const char *name;
	} cases[] = {
		{ 0, 1, "1970-01-01.db" },           { -1, 1, "1969-12-31.db" },
		{ 11016, 1, "2000-02-29.db" },       { 20000, 2, "2024-10-04.2.db" },
		{ 47482, 1, "2100-01-01.db" },       { 106751, 1, "2262-04-11.db" },
		{ -106752, 12, "1677-09-21.12.db" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char name[WINDOW_FILE_SIZE];
		const char *rest;
		uint32_t number;
		int32_t day;

		window_file_format(cases[i].day, cases[i].number, name);
		assert_string_equal(name, cases[i].name);
		assert_true(window_file_parse(name, &day, &number, &rest));
		assert_int_equal(day, cases[i].day);
		assert_int_equal(number, cases[i].number);
		assert_string_equal(rest, "");
	}
}

static void other_names_are_no_windows(void **state)
{
	static const char *const names[] = { "",
		                             "settings.db",
		                             "2024-10-04",
		                             "2024-13-04.db",
		                             "2024-02-30.db",
		                             "2024-10-00.db",
		                             "2024-10-04.1.db",
		                             "2024-10-04.02.db",
		                             "24-10-04.db",
		                             "2024-10-04.x.db",
		                             "2024-10-04.2" };
	const char *rest;
	uint32_t number;
	int32_t day;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_false(window_file_parse(names[i], &day, &number, &rest));
	assert_true(window_file_parse("2024-10-04.db-wal", &day, &number, &rest));
	assert_string_equal(rest, "-wal");
}

static void folders_of_tenants_are_escaped(void **state)
{
	static const struct {
		struct str tenant;
		const char *folder;
	} cases[] = {
		{ STR("team-a_1.x"), "team-a_1.x" },
		{ STR("."), "%2e" },
		{ STR(".."), "%2e." },
		{ STR("a/b"), "a%2fb" },
		{ STR(""), "%" },
		{ STR("a\0b"), "a%00b" },
		{ STR("%"), "%25" },
		{ STR("\xff"), "%ff" },
	};
	char long_a[400];
	char long_b[400];
	char folder_a[TENANT_FOLDER_SIZE];
	char folder_b[TENANT_FOLDER_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		tenant_folder_format(cases[i].tenant, folder_a);
		assert_string_equal(folder_a, cases[i].folder);
	}
	memset(long_a, '!', sizeof(long_a));
	memset(long_b, '!', sizeof(long_b));
	long_b[399] = '?';
	tenant_folder_format(str_make(long_a, 400), folder_a);
	tenant_folder_format(str_make(long_b, 400), folder_b);
	assert_string_not_equal(folder_a, folder_b);
	assert_in_range(strlen(folder_a), 200, TENANT_FOLDER_SIZE - 1);
}

static void folders_of_others_are_no_tenants(void **state)
{
	static const struct {
		const char *name;
		bool is_name;
	} cases[] = {
		{ "t", true },        { "%", true },           { "a.b-c_D9", true },
		{ "a%2fb", true },    { "lost+found", false }, { "", false },
		{ ".hidden", false }, { "my team", false },    { "t~", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(tenant_folder_is_name(str_of(cases[i].name)), cases[i].is_name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(days_are_counted_down_below_zero),
		cmocka_unit_test(files_are_named_by_day_and_number),
		cmocka_unit_test(other_names_are_no_windows),
		cmocka_unit_test(folders_of_tenants_are_escaped),
		cmocka_unit_test(folders_of_others_are_no_tenants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
