#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/regular_file.h"

struct fixture {
	char path[64];
	int folder;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	(void)snprintf(fixture->path, sizeof(fixture->path), "/tmp/regular-file-XXXXXX");
	assert_non_null(mkdtemp(fixture->path));
	fixture->folder = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fixture->folder >= 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "file", "pipe", "link", "loop" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(fixture->folder, names[i], 0);
	(void)unlinkat(fixture->folder, "folder", AT_REMOVEDIR);
	(void)close(fixture->folder);
	(void)rmdir(fixture->path);
	free(fixture);
	return 0;
}

static void make_file(const struct fixture *fixture)
{
	const int file = openat(fixture->folder, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(file, "text", 4), 4);
	assert_int_equal(close(file), 0);
}

static void a_file_is_read(void **state)
{
	const struct fixture *fixture = *state;
	char text[8];
	int file;

	make_file(fixture);
	assert_int_equal(symlinkat("file", fixture->folder, "link"), 0);
	file = regular_file_open(fixture->folder, "file", 0);
	assert_int_equal(read(file, text, sizeof(text)), 4);
	assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
	assert_int_equal(close(file), 0);
	file = regular_file_open(fixture->folder, "link", 0);
	assert_int_equal(read(file, text, sizeof(text)), 4);
	assert_int_equal(close(file), 0);
}

static void refused(const struct fixture *fixture, const char *name, uint64_t resolve, int number)
{
	errno = 0;
	assert_int_equal(regular_file_open(fixture->folder, name, resolve), -1);
	assert_int_equal(errno, number);
}

static void what_is_no_file_is_refused(void **state)
{
	const struct fixture *fixture = *state;

	assert_int_equal(mkdirat(fixture->folder, "folder", 0700), 0);
	assert_int_equal(symlinkat("/dev/zero", fixture->folder, "link"), 0);
	assert_int_equal(symlinkat("loop", fixture->folder, "loop"), 0);
	refused(fixture, "folder", 0, EINVAL);
	refused(fixture, "link", 0, EINVAL);
	refused(fixture, "link", RESOLVE_BENEATH, EXDEV);
	refused(fixture, "loop", 0, ELOOP);
	refused(fixture, "missing", 0, ENOENT);
}

/* Whoever opens a pipe is told by the kernel; nobody does, and nobody waits. */
static void a_pipe_is_not_opened_at_all(void **state)
{
	const struct fixture *fixture = *state;
	const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char path[96];
	char events[512];

	assert_true(watch >= 0);
	assert_int_equal(mkfifoat(fixture->folder, "pipe", 0600), 0);
	(void)snprintf(path, sizeof(path), "%s/pipe", fixture->path);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	refused(fixture, "pipe", 0, EINVAL);
	assert_int_equal(read(watch, events, sizeof(events)), -1);
	assert_int_equal(errno, EAGAIN);
	/* it would be told */
	assert_int_equal(close(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)), 0);
	assert_true(read(watch, events, sizeof(events)) > 0);
	assert_int_equal(close(watch), 0);
}

static size_t descriptors(void)
{
	size_t count = 0;

	for (int i = 0; i < 256; i++)
		count += fcntl(i, F_GETFD) >= 0;
	return count;
}

static void nothing_stays_open(void **state)
{
	const struct fixture *fixture = *state;
	const size_t before = descriptors();

	make_file(fixture);
	assert_int_equal(close(regular_file_open(fixture->folder, "file", 0)), 0);
	refused(fixture, "missing", 0, ENOENT);
	refused(fixture, ".", 0, EINVAL);
	assert_int_equal(descriptors(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_read),
		TEST(what_is_no_file_is_refused),
		TEST(a_pipe_is_not_opened_at_all),
		TEST(nothing_stays_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
