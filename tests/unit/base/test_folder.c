#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/folder.h"
#include "base/str.h"

static int left = -1; /* entries until the disk fails; -1: it does not */

/* The linker puts this one in the place of readdir(). */
struct dirent *__real_readdir(DIR *directory);
struct dirent *__wrap_readdir(DIR *directory);

struct dirent *__wrap_readdir(DIR *directory)
{
	if (left == 0) {
		errno = EIO;
		return NULL;
	}
	left -= left > 0;
	return __real_readdir(directory);
}

struct fixture {
	char path[64];
	char inside[96]; /* a folder with two files */
};

static void make_file(const char *folder, const char *name)
{
	char path[160];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void link_inside(const struct fixture *fixture, const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", fixture->path, name);
	assert_int_equal(symlink("inside", path), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	(void)snprintf(fixture->path, sizeof(fixture->path), "/tmp/folder-XXXXXX");
	assert_non_null(mkdtemp(fixture->path));
	(void)snprintf(fixture->inside, sizeof(fixture->inside), "%s/inside", fixture->path);
	assert_int_equal(mkdir(fixture->inside, 0700), 0);
	make_file(fixture->inside, "one");
	make_file(fixture->inside, "two");
	make_file(fixture->path, "file");
	link_inside(fixture, "link");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "inside/one", "inside/two", "file", "link" };
	struct fixture *fixture = *state;
	char path[160];

	left = -1;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", fixture->path, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(fixture->inside);
	(void)rmdir(fixture->path);
	free(fixture);
	return 0;
}

/* The names of a folder, or -1. */
static int count(const struct folder *folder, struct error *err)
{
	const struct dirent *entry;
	int found = 0;
	int more;

	while ((more = folder_next(folder, &entry, err)) > 0) {
		assert_true(strcmp(entry->d_name, "one") == 0 || strcmp(entry->d_name, "two") == 0);
		found++;
	}
	return more < 0 ? -1 : found;
}

static void every_name_comes_once_without_the_dots(void **state)
{
	const struct fixture *fixture = *state;
	CLEANUP(folder_close) struct folder folder = { 0 };
	struct error err;

	assert_int_equal(folder_open(fixture->inside, &folder, &err), 0);
	assert_int_equal(count(&folder, &err), 2);
	assert_int_equal(count(&folder, &err), 0);
	folder_rewind(&folder);
	assert_int_equal(count(&folder, &err), 2);
}

static void what_is_not_there_is_empty(void **state)
{
	const struct fixture *fixture = *state;
	CLEANUP(folder_close) struct folder above = { 0 };
	CLEANUP(folder_close) struct folder folder = { 0 };
	CLEANUP(folder_close) struct folder below = { 0 };
	struct error err;

	assert_int_equal(folder_open("/nowhere/at/all", &folder, &err), 0);
	assert_null(folder.directory);
	assert_int_equal(count(&folder, &err), 0);
	assert_int_equal(folder_open(fixture->path, &above, &err), 0);
	assert_int_equal(folder_open_below(&above, "nowhere", &below, &err), 0);
	assert_int_equal(count(&below, &err), 0);
	folder_close(&below);
	assert_int_equal(folder_open_below(&above, "file", &below, &err), 0);
	assert_int_equal(count(&below, &err), 0);
}

static void a_link_is_told_where_none_is_followed(void **state)
{
	const struct fixture *fixture = *state;
	CLEANUP(folder_close) struct folder above = { 0 };
	CLEANUP(folder_close) struct folder below = { 0 };
	struct error err;

	assert_int_equal(folder_open(fixture->path, &above, &err), 0);
	assert_int_equal(folder_open_below(&above, "inside", &below, &err), 0);
	assert_int_equal(count(&below, &err), 2);
	folder_close(&below);
	assert_int_equal(folder_open_below(&above, "link", &below, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.message, "/link is a link"));
}

static void a_listing_that_ends_early_is_an_error(void **state)
{
	const struct fixture *fixture = *state;
	CLEANUP(folder_close) struct folder folder = { 0 };
	struct error err;

	assert_int_equal(folder_open(fixture->inside, &folder, &err), 0);
	for (int calls = 0; calls <= 4; calls++) { /* two names, two dots; then the end */
		left = calls;
		folder_rewind(&folder);
		assert_int_equal(count(&folder, &err), -1);
		assert_int_equal(err.code, ERROR_IO);
		assert_non_null(strstr(err.message, fixture->inside));
	}
	left = 5;
	folder_rewind(&folder);
	assert_int_equal(count(&folder, &err), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_name_comes_once_without_the_dots),
		TEST(what_is_not_there_is_empty),
		TEST(a_link_is_told_where_none_is_followed),
		TEST(a_listing_that_ends_early_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
