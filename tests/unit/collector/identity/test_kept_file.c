#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/identity/kept_file.h"
#include "tests/unit/collector/identity/machine_folder.h"

#define LIMIT 64
#define PATH  "/etc/list"

static char root[] = "/tmp/test_kept_file.XXXXXX";

static int set_up(void **state)
{
	memcpy(root + sizeof(root) - sizeof("XXXXXX"), "XXXXXX", sizeof("XXXXXX"));
	*state = root;
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	machine_remove(*state);
	return 0;
}

static void a_file_is_read_when_it_has_changed(void **state)
{
	CLEANUP(host_files_close) struct host_files files = { -1 };
	CLEANUP(kept_file_fini) struct kept_file kept;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(host_files_open(root, &files, &err), 0);
	kept_file_init(&kept, LIMIT);
	assert_int_equal(kept_file_text(&kept, &files, PATH).length, 0); /* it is not there */
	assert_int_equal(kept.reads, 0);
	machine_put_file(root, PATH, "one");
	for (int i = 0; i < 10; i++)
		assert_true(str_equals(kept_file_text(&kept, &files, PATH), "one"));
	assert_int_equal(kept.reads, 1);
	machine_put_file(root, PATH, "another");
	for (int i = 0; i < 10; i++)
		assert_true(str_equals(kept_file_text(&kept, &files, PATH), "another"));
	assert_int_equal(kept.reads, 2);
}

static void what_is_too_large_is_looked_at_once(void **state)
{
	CLEANUP(host_files_close) struct host_files files = { -1 };
	CLEANUP(kept_file_fini) struct kept_file kept;
	char text[2 * LIMIT + 1];
	struct error err = { 0 };

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(host_files_open(root, &files, &err), 0);
	kept_file_init(&kept, LIMIT);
	machine_put_file(root, PATH, text);
	for (int i = 0; i < 10; i++)
		assert_int_equal(kept_file_text(&kept, &files, PATH).length, 0);
	assert_int_equal(kept.reads, 1);
	machine_put_file(root, PATH, "small");
	assert_true(str_equals(kept_file_text(&kept, &files, PATH), "small"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(a_file_is_read_when_it_has_changed),
		TEST(what_is_too_large_is_looked_at_once),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
