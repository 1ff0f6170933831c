#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/collector_process.h"
#include "server/options.h"
#include "server/push/push_backlog.h"
#include "tests/unit/server/spool_harness.h"

/* What becomes of the process under test. */
struct course {
	_Atomic bool is_asked; /* a push was tried */
	int told;
};

/* As a server half that is gone. */
static struct push_answer deliver(void *context, struct str request, struct error *err)
{
	struct course *course = context;

	(void)request;
	(void)err;
	course->is_asked = true;
	return (struct push_answer){ .outcome = PUSH_GONE };
}

/* Told to end when it has said that it cannot watch, and a push waits that nobody takes. */
static void stop(void *context, struct str text)
{
	struct course *course = context;

	assert_true(text.length > 0);
	while (!course->is_asked)
		sched_yield();
	course->told++;
	collector_process_stop();
}

static void nothing(void *context)
{
	(void)context;
}

static void leave_one(const char *path)
{
	struct push_backlog *backlog;
	size_t lost;
	size_t kept;

	backlog = push_backlog_new(&(struct push_backlog_options){ .memory_bytes = 1000,
	                                                           .spool_path = path,
	                                                           .spool_bytes = 1 << 20,
	                                                           .spool_retry_ns = NS_PER_MS });
	push_backlog_add(backlog, STR("one"));
	push_backlog_free(backlog, &lost, &kept);
	assert_int_equal(kept, 1);
}

/* There is no such root of the host; what waits in the spool nobody takes. */
static void who_cannot_watch_ends_with_pushes_that_nobody_takes(void **state)
{
	CLEANUP(options_freep) struct options *options = options_new();
	struct spool_place place;
	struct course course = { .told = 0 };

	(void)state;
	place_make(&place);
	leave_one(place.path);
	options->collector_host_root = "/none/such";
	options->push_spool = place.path;
	collector_process_prepare(options);
	assert_int_equal(collector_process_run(&(struct collector_process){
				 .options = options,
				 .role = COLLECTOR_OF_RUN,
				 .transport = { .deliver = deliver, .context = &course },
				 .metrics = stop,
				 .delivered = nothing,
				 .context = &course,
			 }),
	                 0); /* and not never */
	assert_int_equal(course.told, 1);
	assert_int_equal(place_count(&place, ".push"), 1);
	place_remove(&place);
}

/* A recording was asked for by name: to serve on without would hide that there is none. */
static void who_cannot_show_a_recording_ends(void **state)
{
	CLEANUP(options_freep) struct options *options = options_new();
	struct course course = { .told = 0 };

	(void)state;
	options->collector_replay = "/none/such";
	collector_process_prepare(options);
	assert_int_equal(collector_process_run(&(struct collector_process){
				 .options = options,
				 .role = COLLECTOR_OF_RUN,
				 .transport = { .deliver = deliver, .context = &course },
				 .metrics = stop,
				 .delivered = nothing,
				 .context = &course,
			 }),
	                 1);
	assert_int_equal(course.told, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_cannot_show_a_recording_ends),
		cmocka_unit_test(who_cannot_watch_ends_with_pushes_that_nobody_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
