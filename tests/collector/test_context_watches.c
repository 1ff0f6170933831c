/* Who gets probes on what switches contexts: this process is the one that sees several devices. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/watch/context_watches.h"
#include "collector/watch/library_table.h"

struct fixture {
	struct context_watches *watches;
	struct context_attacher attacher;
	size_t attached;
	size_t detached;
	size_t watched;
	size_t unwatched;
	size_t room; /* for processes */
	bool refuses;
	int files[LIBRARIES_OF_ONE_MAX]; /* that are open */
	size_t file_count;
};

static int attach(void *context, int descriptor, uint32_t tgid, void **out_link, struct error *err)
{
	struct fixture *fixture = context;

	assert_true(descriptor >= 0);
	assert_int_equal(tgid, getpid());
	if (fixture->refuses)
		return error_set(err, ERROR_FORBIDDEN, "not here");
	fixture->attached++;
	*out_link = fixture;
	return 0;
}

static void detach(void *context, void *link)
{
	struct fixture *fixture = context;

	assert_ptr_equal(link, fixture);
	fixture->detached++;
}

static bool watch(void *context, const struct process_key *key)
{
	struct fixture *fixture = context;

	(void)key;
	if (fixture->watched == fixture->room)
		return false;
	fixture->watched++;
	return true;
}

static void unwatch(void *context, const struct process_key *key)
{
	struct fixture *fixture = context;

	(void)key;
	fixture->unwatched++;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->attacher = (struct context_attacher){ attach, detach, watch, unwatch, fixture };
	fixture->watches = context_watches_new(&fixture->attacher);
	fixture->room = SIZE_MAX;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	int leaked;

	context_watches_free(fixture->watches);
	leaked = fixture->attached != fixture->detached;
	while (fixture->file_count > 0)
		(void)close(fixture->files[--fixture->file_count]);
	free(fixture);
	return leaked;
}

static struct process_key own_key(uint64_t start_ns)
{
	return (struct process_key){ .tgid = (uint32_t)getpid(), .start_ns = start_ns };
}

static void a_process_has_one_link_a_driver(void **state)
{
	struct fixture *fixture = *state;
	const struct process_key key = own_key(7);
	const struct process_key other = own_key(8);

	context_watches_begin(fixture->watches, &key);
	context_watches_begin(fixture->watches, &key);
	assert_int_equal(fixture->attached, 1); /* it maps the driver in several pieces */
	assert_int_equal(fixture->watched, 1);
	assert_int_equal(context_watches_counts(fixture->watches).processes, 1);
	context_watches_end(fixture->watches, &other);
	assert_int_equal(fixture->detached, 0);
	context_watches_end(fixture->watches, &key);
	assert_int_equal(fixture->detached, 1);
	assert_int_equal(fixture->unwatched, 1);
	assert_int_equal(context_watches_counts(fixture->watches).processes, 0);
}

static void without_its_probes_a_process_is_not_watched(void **state)
{
	struct fixture *fixture = *state;
	const struct process_key key = own_key(7);
	struct context_watch_counts counts;
	struct error err = { 0 };

	fixture->refuses = true;
	context_watches_begin(fixture->watches, &key);
	fixture->refuses = false;
	context_watches_begin(fixture->watches, &key); /* it is not tried again at each call */
	assert_int_equal(fixture->attached + fixture->watched, 0);
	counts = context_watches_counts(fixture->watches);
	assert_int_equal(counts.processes, 0);
	assert_int_equal(counts.errors, 1);
	assert_true(context_watches_trouble(fixture->watches, &err));
	assert_string_equal(err.message, "not here");
	assert_false(context_watches_trouble(fixture->watches, &err));
}

static void what_the_kernel_has_no_room_for_is_given_up(void **state)
{
	struct fixture *fixture = *state;
	const struct process_key key = own_key(7);

	fixture->room = 0;
	context_watches_begin(fixture->watches, &key);
	assert_int_equal(fixture->detached, 1);
	assert_int_equal(context_watches_counts(fixture->watches).processes, 0);
	assert_int_equal(context_watches_counts(fixture->watches).refused, 1);
	assert_int_equal(context_watches_counts(fixture->watches).errors, 0);
}

/* A mapping of this process, of a file at that path. */
static struct library_mapping own_mapping(const char *path)
{
	return (struct library_mapping){
		.tgid = getpid(), .start = 0x1000, .end = 0x2000, .path = str_of(path)
	};
}

static void drivers_of_a_process_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	const struct process_key key = own_key(7);

	context_watches_begin(fixture->watches, &key);
	for (size_t i = 1; i <= LIBRARIES_OF_ONE_MAX; i++) {
		char path[] = "/tmp/test_context_watches.XXXXXX";
		const int file = mkstemp(path);
		const struct library_mapping mapping = own_mapping(path);

		assert_true(file >= 0);
		assert_int_equal(context_watches_counts(fixture->watches).refused, 0);
		context_watches_mapped(fixture->watches, &mapping);
		/* no other gets its inode meanwhile */
		fixture->files[fixture->file_count++] = file;
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(fixture->attached, LIBRARIES_OF_ONE_MAX);
	assert_int_equal(context_watches_counts(fixture->watches).processes, 0);
	assert_int_equal(context_watches_counts(fixture->watches).refused, 1);
	assert_int_equal(context_watches_counts(fixture->watches).errors, 0);
}

/* It runs by a driver that nobody can open: that is no end of the process. */
static void a_driver_that_is_gone_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	const struct library_mapping mapping = own_mapping("/nowhere/libcuda.so.1 (deleted)");
	const struct process_key key = own_key(7);
	struct error err = { 0 };

	context_watches_begin(fixture->watches, &key);
	context_watches_mapped(fixture->watches, &mapping);
	assert_int_equal(fixture->detached, 1);
	assert_int_equal(context_watches_counts(fixture->watches).processes, 0);
	assert_int_equal(context_watches_counts(fixture->watches).errors, 1);
	assert_true(context_watches_trouble(fixture->watches, &err));
}

static void processes_are_bounded(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 1; i <= CONTEXT_WATCHES_MAX + 5; i++) {
		const struct process_key key = own_key(i);

		context_watches_begin(fixture->watches, &key);
	}
	assert_int_equal(context_watches_counts(fixture->watches).processes, CONTEXT_WATCHES_MAX);
	assert_int_equal(context_watches_counts(fixture->watches).refused, 5);
}

static void who_has_ended_is_no_error(void **state)
{
	struct fixture *fixture = *state;
	struct process_key key = { .start_ns = 9 };
	const pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	key.tgid = (uint32_t)child;
	context_watches_begin(fixture->watches, &key);
	assert_int_equal(context_watches_counts(fixture->watches).processes, 0);
	assert_int_equal(context_watches_counts(fixture->watches).errors, 0);
	assert_int_equal(fixture->watched, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_process_has_one_link_a_driver),
		TEST(without_its_probes_a_process_is_not_watched),
		TEST(what_the_kernel_has_no_room_for_is_given_up),
		TEST(drivers_of_a_process_are_bounded),
		TEST(a_driver_that_is_gone_is_an_error),
		TEST(processes_are_bounded),
		TEST(who_has_ended_is_no_error),
	};

	if (!dlopen(STUB_DRIVER, RTLD_NOW)) {
		print_error("%s\n", dlerror()); /* NOLINT(concurrency-mt-unsafe): one thread */
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
