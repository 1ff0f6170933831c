#include "storage/care/store_listing.h"
#include "tests/unit/storage/store_fixture.h"

/* Runs a command in the store's folder. */
static void in_folder(const char *folder, const char *command)
{
	char line[8400];

	(void)snprintf(line, sizeof(line), "cd '%s' && %s", folder, command);
	assert_int_equal(system(line), 0);
}

static int setup_files(void **state)
{
	char *folder = folder_make();

	in_folder(folder, "mkdir -p tenants/t tenants/u tenants/lost+found"
	                  " && printf 12345 >tenants/t/2024-10-04.db"
	                  " && printf 123 >tenants/u/2024-10-04.2.db"
	                  " && touch tenants/u/settings.db tenants/t/2024-10-04.db-wal"
	                  " tenants/t/notes.txt tenants/file tenants/lost+found/2024-10-04.db");
	*state = folder;
	return 0;
}

static int teardown_files(void **state)
{
	folder_drop(*state);
	return 0;
}

static void what_a_store_makes_is_listed_in_its_order(void **state)
{
	static const char *const names[] = { "tenants/t/2024-10-04.db", "tenants/u/2024-10-04.2.db",
		                             "tenants/u/settings.db" };
	CLEANUP(store_listing_fini) struct store_listing listing = { 0 };
	struct error err = { 0 };

	assert_int_equal(store_listing_make(*state, &listing, &err), 0);
	assert_int_equal(listing.count, ARRAY_LENGTH(names));
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_string_equal(listing.files[i].name, names[i]);
	assert_int_equal(listing.bytes, 5 + 3);
}

/* Else a backup would lack what is served, and nobody would be told. */
static void a_link_in_the_place_of_a_tenant_is_refused(void **state)
{
	struct store_listing listing = { 0 };
	struct error err = { 0 };

	in_folder(*state, "mv tenants/u elsewhere && ln -s ../elsewhere tenants/u");
	assert_int_equal(store_listing_make(*state, &listing, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.message, "tenants/u is a link"));
}

static void a_link_in_the_place_of_a_window_is_refused(void **state)
{
	struct store_listing listing = { 0 };
	struct error err = { 0 };

	in_folder(*state, "mv tenants/t/2024-10-04.db moved && "
	                  "ln -s ../../moved tenants/t/2024-10-04.db");
	assert_int_equal(store_listing_make(*state, &listing, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.message, "tenants/t/2024-10-04.db is a link"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_files, teardown_files)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_store_makes_is_listed_in_its_order),
		TEST(a_link_in_the_place_of_a_tenant_is_refused),
		TEST(a_link_in_the_place_of_a_window_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
