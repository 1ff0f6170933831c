#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/push/push_spool.h"
#include "server/push/spool_file.h"
#include "tests/unit/server/spool_harness.h"

#define NOW       clock_unix_ns()
#define BYTES_MAX ((size_t)1 << 20)

/* A spool in a folder of its own. */
struct fixture {
	struct spool_place place;
	struct push_spool_options options;
	struct push_spool *spool;
	struct strbuf bytes;
	struct str request; /* a view of them */
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	place_make(&fixture->place);
	fixture->options =
		(struct push_spool_options){ .path = fixture->place.path, .max_bytes = BYTES_MAX };
	strbuf_init(&fixture->bytes, BYTES_MAX);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	push_spool_close(fixture->spool);
	strbuf_fini(&fixture->bytes);
	place_remove(&fixture->place);
	free(fixture);
	return 0;
}

static void open_again(struct fixture *fixture)
{
	struct error err = { 0 };

	push_spool_close(fixture->spool);
	fixture->spool = NULL;
	assert_int_equal(push_spool_open(&fixture->options, &fixture->spool, &err), 0);
}

static void append(struct fixture *fixture, uint64_t number, const char *text)
{
	struct error err = { 0 };

	assert_int_equal(push_spool_append(fixture->spool, number, NOW, str_of(text), &err), 0);
}

static int take(struct fixture *fixture, struct error *err)
{
	int64_t time;

	return push_spool_take(fixture->spool, &fixture->bytes, &fixture->request, &time, err);
}

static void expect(struct fixture *fixture, const char *text)
{
	struct error err = { 0 };

	assert_int_equal(take(fixture, &err), 1);
	assert_true(str_equals(fixture->request, text));
}

static void expect_and_settle(struct fixture *fixture, const char *text)
{
	struct error err = { 0 };

	expect(fixture, text);
	assert_int_equal(push_spool_settle(fixture->spool, &err), 0);
}

static void expect_nothing(struct fixture *fixture)
{
	struct error err = { 0 };

	assert_int_equal(take(fixture, &err), 0);
}

static void pushes_come_back_in_their_order_and_their_files_go(void **state)
{
	struct fixture *fixture = *state;

	open_again(fixture);
	append(fixture, 0, "one");
	append(fixture, 1, "two");
	append(fixture, 5, "three");
	assert_int_equal(place_count(&fixture->place, ".push"), 3);
	expect_and_settle(fixture, "one");
	expect_and_settle(fixture, "two");
	assert_int_equal(place_count(&fixture->place, ".push"), 1);
	append(fixture, 6, "four");
	expect_and_settle(fixture, "three");
	expect_and_settle(fixture, "four");
	expect_nothing(fixture);
	assert_int_equal(place_count(&fixture->place, ".push"), 0);
	assert_int_equal(push_spool_counts(fixture->spool).waiting_bytes, 0);
}

/* What was taken and not settled comes again, and before what comes now. */
static void the_next_process_begins_where_this_one_was_killed(void **state)
{
	struct fixture *fixture = *state;

	open_again(fixture);
	append(fixture, 0, "one");
	append(fixture, 1, "two");
	append(fixture, 2, "three");
	expect_and_settle(fixture, "one");
	expect(fixture, "two");
	open_again(fixture);
	assert_int_equal(push_spool_counts(fixture->spool).waiting, 2);
	append(fixture, 0, "four"); /* its numbers begin anew */
	expect_and_settle(fixture, "two");
	expect_and_settle(fixture, "three");
	expect_and_settle(fixture, "four");
	expect_nothing(fixture);
}

/* It was taken from memory, before the others were written, and not delivered. */
static void what_is_kept_at_the_end_goes_before_what_came_later(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };

	open_again(fixture);
	append(fixture, 3, "later");
	assert_int_equal(push_spool_keep(fixture->spool, 2, NOW, STR("sooner"), &err), 0);
	open_again(fixture);
	expect_and_settle(fixture, "sooner");
	expect_and_settle(fixture, "later");
}

static void many_pushes_and_many_processes_keep_the_order(void **state)
{
	struct fixture *fixture = *state;
	char text[16];
	unsigned int written = 0;
	unsigned int taken = 0;

	for (unsigned int process = 0; process < 10; process++) {
		open_again(fixture);
		for (unsigned int i = 0; i < 50; i++) {
			(void)snprintf(text, sizeof(text), "%u", written++);
			append(fixture, i, text);
		}
		for (unsigned int i = 0; i < (process % 2 ? 90 : 5); i++) {
			(void)snprintf(text, sizeof(text), "%u", taken++);
			expect_and_settle(fixture, text);
		}
	}
	assert_int_equal(push_spool_counts(fixture->spool).waiting, written - taken);
}

static void over_the_bound_the_oldest_go_but_for_the_one_that_is_held(void **state)
{
	struct fixture *fixture = *state;
	struct push_spool_counts counts;

	fixture->options.max_bytes =
		(uint64_t)3 * SPOOL_BLOCK_BYTES; /* a small push takes a block */
	open_again(fixture);
	append(fixture, 0, "held");
	append(fixture, 1, "a");
	append(fixture, 2, "b");
	expect(fixture, "held");
	append(fixture, 3, "c");
	append(fixture, 4, "d");
	counts = push_spool_counts(fixture->spool);
	assert_int_equal(counts.dropped_full, 2);
	assert_int_equal(counts.waiting, 2);
	assert_int_equal(counts.waiting_bytes, 2 * SPOOL_BLOCK_BYTES);
	assert_int_equal(counts.held_bytes, SPOOL_BLOCK_BYTES);
	assert_int_equal(place_count(&fixture->place, ".push"), 3);
	open_again(fixture);
	expect_and_settle(fixture, "held");
	expect_and_settle(fixture, "c");
	expect_and_settle(fixture, "d");
}

/* More files than a process takes in: nothing of what it leaves is written over. */
static void what_lies_there_over_the_bound_of_files_stays(void **state)
{
	struct fixture *fixture = *state;

	open_again(fixture);
	for (unsigned int i = 0; i < 60; i++)
		append(fixture, i, "there");
	fixture->options.max_files = 3;
	open_again(fixture);
	assert_int_equal(push_spool_counts(fixture->spool).dropped_full, 4); /* 6 are taken in */
	append(fixture, 0, "newest");
	assert_int_equal(push_spool_counts(fixture->spool).waiting, 3);
	assert_int_equal(place_count(&fixture->place, ".push"), 3 + 54);
	expect_and_settle(fixture, "there");
	expect_and_settle(fixture, "there");
	expect_and_settle(fixture, "newest");
	expect_nothing(fixture);
}

/* The bound is smaller than it was: the next process obeys it. */
static void a_bound_that_has_shrunk_holds_from_the_start(void **state)
{
	struct fixture *fixture = *state;

	open_again(fixture);
	append(fixture, 0, "a");
	append(fixture, 1, "b");
	append(fixture, 2, "c");
	fixture->options.max_bytes = SPOOL_BLOCK_BYTES;
	open_again(fixture);
	assert_int_equal(push_spool_counts(fixture->spool).dropped_full, 2);
	expect_and_settle(fixture, "c");
	expect_nothing(fixture);
}

static void what_is_too_old_is_dropped_and_counted(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };

	open_again(fixture);
	assert_int_equal(
		push_spool_append(fixture->spool, 0, NOW - 3600 * NS_PER_S, STR("old"), &err), 0);
	assert_int_equal(
		push_spool_append(fixture->spool, 1, NOW - 10 * NS_PER_S, STR("young"), &err), 0);
	assert_int_equal(push_spool_append(fixture->spool, 2, INT64_MIN, STR("hostile"), &err), 0);
	assert_int_equal(push_spool_append(fixture->spool, 3, INT64_MAX, STR("hostile"), &err), 0);
	fixture->options.max_age_ns = 1800 * NS_PER_S;
	assert_int_equal(take(fixture, &err), 1);
	assert_true(str_equals(fixture->request, "young"));
	assert_int_equal(push_spool_counts(fixture->spool).dropped_old, 1);
	open_again(fixture);
	expect_and_settle(fixture, "young");
	assert_int_equal(place_count(&fixture->place, ".push"), 2);
}

static void the_age_of_the_oldest_is_known(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };

	open_again(fixture);
	assert_int_equal(push_spool_counts(fixture->spool).oldest_unix_ns, 0);
	assert_int_equal(push_spool_append(fixture->spool, 0, 1000, STR("one"), &err), 0);
	assert_int_equal(push_spool_append(fixture->spool, 1, 2000, STR("two"), &err), 0);
	assert_int_equal(push_spool_counts(fixture->spool).oldest_unix_ns, 1000);
	open_again(fixture);
	assert_int_equal(push_spool_counts(fixture->spool).oldest_unix_ns, 1000);
	expect(fixture, "one");
	assert_int_equal(push_spool_counts(fixture->spool).oldest_unix_ns, 1000);
	assert_int_equal(push_spool_settle(fixture->spool, &err), 0);
	assert_int_equal(push_spool_counts(fixture->spool).oldest_unix_ns, 2000);
}

#define FIRST      "0000000000000000.push"
#define FILE_BYTES 256

/* Makes the first push of a spool; its file's bytes. */
static size_t make_first(struct fixture *fixture, const char *text, char out[static FILE_BYTES])
{
	open_again(fixture);
	append(fixture, 0, text);
	return place_read(&fixture->place, FIRST, out, FILE_BYTES);
}

/* A power cut leaves any of them: nothing of a torn file is ever sent. */
static void a_file_that_is_torn_at_any_byte_is_dropped_and_counted(void **state)
{
	struct fixture *fixture = *state;
	char bytes[FILE_BYTES];
	size_t length;

	length = make_first(fixture, "torn one", bytes);
	append(fixture, 1, "whole");
	for (size_t cut = 0; cut < length; cut++) {
		place_write(&fixture->place, FIRST, bytes, cut);
		open_again(fixture);
		assert_int_equal(push_spool_counts(fixture->spool).dropped_damaged, 1);
		assert_int_equal(push_spool_counts(fixture->spool).waiting, 1);
		assert_int_equal(place_count(&fixture->place, ".push"), 1);
	}
	expect_and_settle(fixture, "whole");
}

/* As long as it should be, and of other bytes: the disk, or a file system after a crash. */
static void a_file_whose_bytes_changed_is_dropped_and_counted(void **state)
{
	struct fixture *fixture = *state;
	char bytes[FILE_BYTES];
	size_t length;

	length = make_first(fixture, "changed", bytes);
	for (size_t i = 0; i < length; i++) {
		bytes[i] ^= 0x40;
		place_write(&fixture->place, FIRST, bytes, length);
		open_again(fixture);
		append(fixture, 0, "whole");
		expect_and_settle(fixture, "whole");
		assert_int_equal(push_spool_counts(fixture->spool).dropped_damaged, 1);
		bytes[i] ^= 0x40;
	}
}

static void a_file_with_another_ones_bytes_is_dropped_and_counted(void **state)
{
	struct fixture *fixture = *state;
	char bytes[FILE_BYTES];
	size_t length;

	length = make_first(fixture, "sent once", bytes);
	place_write(&fixture->place, "0000000000000009.push", bytes, length);
	open_again(fixture);
	assert_int_equal(push_spool_counts(fixture->spool).dropped_damaged, 1);
	expect_and_settle(fixture, "sent once");
	expect_nothing(fixture);
}

static void what_was_half_written_goes(void **state)
{
	struct fixture *fixture = *state;

	open_again(fixture);
	place_write(&fixture->place, "0000000000000000.part", "half", 4);
	place_write(&fixture->place, "0000000000000001.part", "half", 4);
	append(fixture, 0, "one"); /* over one of them */
	open_again(fixture);
	assert_int_equal(place_count(&fixture->place, ".part"), 0);
	expect_and_settle(fixture, "one");
}

/* Names that are not ours, and things that are no files, are left alone. */
static void what_is_not_ours_is_not_touched(void **state)
{
	static const char *const names[] = { "README", "0000000000000000.push~",
		                             "4000000000000000.push", "ABCDEFABCDEFABCD.push" };
	struct fixture *fixture = *state;
	char victim[SPOOL_PATH_MAX * 2];
	char link[SPOOL_PATH_MAX * 2];
	char text[8];

	open_again(fixture);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		place_write(&fixture->place, names[i], "mine", 4);
	place_file(&fixture->place, "README", victim);
	place_file(&fixture->place, "0000000000000001.push", link);
	assert_int_equal(symlink(victim, link), 0);
	place_file(&fixture->place, "0000000000000002.push", link);
	assert_int_equal(mkfifo(link, 0600), 0);
	place_file(&fixture->place, "0000000000000003.push", link);
	assert_int_equal(mkdir(link, 0700), 0);
	place_file(&fixture->place, "0000000000000004.part", link);
	assert_int_equal(symlink(victim, link), 0);
	open_again(fixture);
	assert_int_equal(push_spool_counts(fixture->spool).waiting, 0);
	assert_int_equal(push_spool_counts(fixture->spool).dropped_damaged, 0);
	append(fixture, 0, "one"); /* a number behind all of them */
	expect_and_settle(fixture, "one");
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		assert_int_equal(place_read(&fixture->place, names[i], text, sizeof(text)), 4);
		assert_memory_equal(text, "mine", 4);
	}
	assert_int_equal(place_count(&fixture->place, ".push"), 3 + 2); /* two have such names */
}

static void a_file_that_somebody_removes_is_counted_and_the_rest_goes_on(void **state)
{
	struct fixture *fixture = *state;
	char path[SPOOL_PATH_MAX * 2];

	open_again(fixture);
	append(fixture, 0, "one");
	append(fixture, 1, "two");
	place_file(&fixture->place, FIRST, path);
	assert_int_equal(unlink(path), 0);
	expect_and_settle(fixture, "two");
	assert_int_equal(push_spool_counts(fixture->spool).dropped_damaged, 1);
}

static void a_folder_that_is_removed_is_made_again(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	open_again(fixture);
	append(fixture, 0, "one");
	place_empty(fixture->place.path);
	assert_int_equal(stat(fixture->place.path, &status), -1);
	append(fixture, 1, "two");
	expect_and_settle(fixture, "two");
	assert_int_equal(push_spool_counts(fixture->spool).dropped_damaged, 1);
	append(fixture, 2, "three");
	open_again(fixture); /* the lock on the new one was ours, too */
	expect_and_settle(fixture, "three");
}

static void refuse(struct fixture *fixture, enum error_code code, const char *text)
{
	struct push_spool *spool = NULL;
	struct error err = { 0 };

	assert_int_equal(push_spool_open(&fixture->options, &spool, &err), -1);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.message, text));
	assert_null(spool);
}

static void two_do_not_share_a_folder(void **state)
{
	struct fixture *fixture = *state;
	char text[64];

	open_again(fixture);
	append(fixture, 0, "one");
	(void)snprintf(text, sizeof(text), "is in use by another process, pid %d", (int)getpid());
	refuse(fixture, ERROR_UNAVAILABLE, text);
	expect_and_settle(fixture, "one");
}

static void a_folder_that_others_may_look_into_is_refused(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned int bit = 1; bit <= 040; bit <<= 1) {
		(void)mkdir(fixture->place.path, 0700);
		assert_int_equal(chmod(fixture->place.path, 0700 | bit), 0);
		refuse(fixture, ERROR_FORBIDDEN, "mode 0700");
	}
	assert_int_equal(chmod(fixture->place.path, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(fixture->place.path, 65534, 65534), 0);
		refuse(fixture, ERROR_FORBIDDEN, "uid 65534");
		assert_int_equal(chown(fixture->place.path, 0, 0), 0);
	}
	open_again(fixture);
}

static void a_folder_that_cannot_be_is_refused(void **state)
{
	struct fixture *fixture = *state;
	char path[SPOOL_PATH_MAX * 2];
	struct stat status;

	open_again(fixture);
	assert_int_equal(stat(fixture->place.path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	place_write(&fixture->place, "file", "x", 1);
	place_file(&fixture->place, "file", path);
	fixture->options.path = path;
	refuse(fixture, ERROR_INVALID, "is no folder");
	place_file(&fixture->place, "none/spool", path);
	refuse(fixture, ERROR_IO, "cannot be made: No such file or directory");
	fixture->options.path = fixture->place.path;
}

/* As a disk that is full within a file: a limit on its size. */
static void what_cannot_be_written_leaves_nothing(void **state)
{
	struct fixture *fixture = *state;
	const struct rlimit small = { 60, RLIM_INFINITY };
	const struct rlimit large = { RLIM_INFINITY, RLIM_INFINITY };
	char text[200];
	struct error err = { 0 };

	open_again(fixture);
	append(fixture, 0, "one");
	memset(text, 'x', sizeof(text));
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(
		push_spool_append(fixture->spool, 1, NOW, str_make(text, sizeof(text)), &err), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &large), 0);
	assert_int_equal(err.code, ERROR_IO);
	assert_int_equal(place_count(&fixture->place, ".part"), 0);
	assert_int_equal(place_count(&fixture->place, ".push"), 1);
	assert_int_equal(
		push_spool_append(fixture->spool, 1, NOW, str_make(text, sizeof(text)), &err), 0);
	expect_and_settle(fixture, "one");
	assert_int_equal(push_spool_counts(fixture->spool).waiting, 1);
}

static void what_may_be_read_later_waits_on(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit before;
	struct rlimit none;
	struct error err = { 0 };

	open_again(fixture);
	append(fixture, 0, "one");
	append(fixture, 1, "two");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(take(fixture, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_int_equal(push_spool_counts(fixture->spool).waiting, 2);
	expect_and_settle(fixture, "one");
	expect_and_settle(fixture, "two");
}

static void pushes_have_a_size(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };

	open_again(fixture);
	assert_int_equal(push_spool_append(fixture->spool, 0, NOW, STR(""), &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_int_equal(push_spool_append(fixture->spool, 0, NOW,
	                                   str_make("", (size_t)SPOOL_REQUEST_MAX + 1), &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

/* Somebody has made the last name that there is: nothing comes after it. */
static void a_last_number_has_no_successor(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };
	char bytes[FILE_BYTES];
	size_t length;

	length = make_first(fixture, "one", bytes);
	place_write(&fixture->place, "3fffffffffffffff.push", bytes, length);
	open_again(fixture);
	assert_int_equal(push_spool_append(fixture->spool, 0, NOW, STR("two"), &err), -1);
	assert_non_null(strstr(err.message, "has no successor"));
	expect_and_settle(fixture, "one");
}

static void syncing_is_done_once(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };
	char path[SPOOL_PATH_MAX * 2];

	open_again(fixture);
	assert_int_equal(push_spool_sync(fixture->spool, &err), 0);
	append(fixture, 0, "one");
	append(fixture, 1, "two");
	expect(fixture, "one");
	assert_int_equal(push_spool_sync(fixture->spool, &err), 0);
	/* what is synced is not opened again: there is something that could not be */
	place_file(&fixture->place, "0000000000000001.push", path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(push_spool_sync(fixture->spool, &err), 0);
	append(fixture, 2, "three");
	place_file(&fixture->place, "0000000000000002.push", path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(push_spool_sync(fixture->spool, &err), 0); /* gone is fine */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pushes_come_back_in_their_order_and_their_files_go),
		TEST(the_next_process_begins_where_this_one_was_killed),
		TEST(what_is_kept_at_the_end_goes_before_what_came_later),
		TEST(many_pushes_and_many_processes_keep_the_order),
		TEST(over_the_bound_the_oldest_go_but_for_the_one_that_is_held),
		TEST(what_lies_there_over_the_bound_of_files_stays),
		TEST(a_bound_that_has_shrunk_holds_from_the_start),
		TEST(what_is_too_old_is_dropped_and_counted),
		TEST(the_age_of_the_oldest_is_known),
		TEST(a_file_that_is_torn_at_any_byte_is_dropped_and_counted),
		TEST(a_file_whose_bytes_changed_is_dropped_and_counted),
		TEST(a_file_with_another_ones_bytes_is_dropped_and_counted),
		TEST(what_was_half_written_goes),
		TEST(what_is_not_ours_is_not_touched),
		TEST(a_file_that_somebody_removes_is_counted_and_the_rest_goes_on),
		TEST(a_folder_that_is_removed_is_made_again),
		TEST(two_do_not_share_a_folder),
		TEST(a_folder_that_others_may_look_into_is_refused),
		TEST(a_folder_that_cannot_be_is_refused),
		TEST(what_cannot_be_written_leaves_nothing),
		TEST(what_may_be_read_later_waits_on),
		TEST(pushes_have_a_size),
		TEST(a_last_number_has_no_successor),
		TEST(syncing_is_done_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
