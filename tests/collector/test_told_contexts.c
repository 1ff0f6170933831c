/*
 * What is told once: on which device a context is, and that one was current unseen. It is told
 * until it has found a place in the ring, and again when it may be about another context.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/collector/permission.h"
#include "tests/collector/probe_fixture.h"
#include "tests/collector/workload_contexts.h"

#define SMALL_RING ((size_t)262144)
#define TRIES      20 /* to have a certain event find no place; most go at once */

struct fixture {
	struct probe_fixture probes;
	struct workload workload;
	struct probe_link *link; /* of this process alone */
	size_t words;
};

static void drain(struct fixture *fixture)
{
	while (probe_set_drain(fixture->probes.set, 1000) > 0)
		;
}

static void wait_until_ready(struct fixture *fixture)
{
	fixture->words++;
	while (!workload_is_ready(&fixture->workload, fixture->words)) {
		assert_false(workload_has_ended(&fixture->workload));
		probe_fixture_pause();
	}
}

/* All that makes contexts current in it is seen. */
static void watch_contexts(struct fixture *fixture)
{
	const int library = open(STUB_DRIVER, O_RDONLY | O_CLOEXEC);
	struct probe_target target = { library, NULL, (uint32_t)fixture->workload.pid };
	const struct cuda_event *any;
	struct probe_points points;
	struct error err = { 0 };

	assert_true(library >= 0);
	drain(fixture);
	any = event_log_find(&fixture->probes.log, fixture->workload.pid, 0, 0);
	assert_non_null(any);
	target.points = &points;
	if (probe_points_find(library, PROBE_SCOPE_SEVERAL, &points, &err) < 0 ||
	    probe_set_attach(fixture->probes.set, &target, &fixture->link, &err) < 0)
		fail_msg("%s", err.message);
	(void)close(library);
	assert_true(probe_set_watch_contexts(
		fixture->probes.set,
		&(struct process_key){ .start_ns = any->process_start_ns, .tgid = any->tgid }));
}

static void say(struct fixture *fixture, enum context_word word)
{
	workload_say(&fixture->workload, (char)word);
	wait_until_ready(fixture);
}

static void start(struct fixture *fixture)
{
	fixture->words = 0;
	fixture->workload =
		probe_fixture_start(&fixture->probes, "contexts", NULL, "STUB_DEVICES=2");
	wait_until_ready(fixture);
	watch_contexts(fixture);
	/* which one was current before is not known: from its next call on it is */
	workload_say(&fixture->workload, CONTEXT_WORD_CREATE_END);
	wait_until_ready(fixture);
}

static void stop_workload(struct fixture *fixture)
{
	probe_set_detach(fixture->probes.set, fixture->link);
	workload_fini(&fixture->workload);
}

/* How often a function was told of, since the start. */
static size_t told(struct fixture *fixture, enum cuda_function_id function)
{
	size_t count = 0;

	drain(fixture);
	for (size_t i = 0; i < fixture->probes.log.count; i++) {
		const struct cuda_event *event = fixture->probes.log.events[i];

		count += (pid_t)event->tgid == fixture->workload.pid && event->function == function;
	}
	return count;
}

static int set_up(void **state)
{
	static struct fixture fixture;

	fixture = (struct fixture){ 0 };
	probe_fixture_init(&fixture.probes,
	                   &(struct probe_set_options){ .event_ring_bytes = SMALL_RING });
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	stop_workload(fixture);
	probe_fixture_fini(&fixture->probes);
	return 0;
}

static void a_device_is_told_once(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	for (int i = 0; i < 3; i++)
		say(fixture, CONTEXT_WORD_ASK);
	assert_int_equal(told(fixture, CU_CTX_DEVICE_V2), 1);
}

/* Starts one for which `word` tells nothing of `function`, for want of room. */
static void start_and_lose(struct fixture *fixture, enum context_word word,
                           enum cuda_function_id function)
{
	for (int i = 0; i < TRIES; i++) {
		start(fixture);
		say(fixture, word);
		if (told(fixture, function) == 0) {
			assert_true(probe_fixture_lost(&fixture->probes, LOSS_RING_FULL) > 0);
			return;
		}
		stop_workload(fixture);
	}
	fail_msg("each of %d full rings had a place", TRIES);
}

static void a_device_that_found_no_place_is_told_again(void **state)
{
	struct fixture *fixture = *state;

	start_and_lose(fixture, CONTEXT_WORD_STORM_ASK, CU_CTX_DEVICE_V2);
	say(fixture, CONTEXT_WORD_ASK);
	assert_int_equal(told(fixture, CU_CTX_DEVICE_V2), 1);
	say(fixture, CONTEXT_WORD_ASK);
	assert_int_equal(told(fixture, CU_CTX_DEVICE_V2), 1);
}

static void what_was_unseen_and_found_no_place_is_told_again(void **state)
{
	struct fixture *fixture = *state;

	start_and_lose(fixture, CONTEXT_WORD_STORM_UNSEEN, CU_CTX_GET);
	say(fixture, CONTEXT_WORD_UNSEEN);
	assert_int_equal(told(fixture, CU_CTX_GET), 1);
	say(fixture, CONTEXT_WORD_UNSEEN);
	assert_int_equal(told(fixture, CU_CTX_GET), 1);
}

/* What user space forgets with a context, it must be told of the next one by that handle. */
static void behind_the_end_of_a_context_devices_are_told_again(void **state)
{
	static const enum context_word ends[] = {
		CONTEXT_WORD_RESET,
		CONTEXT_WORD_RELEASE,
		CONTEXT_WORD_CREATE_END,
	};
	struct fixture *fixture = *state;

	start(fixture);
	say(fixture, CONTEXT_WORD_ASK);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		say(fixture, ends[i]);
		say(fixture, CONTEXT_WORD_ASK);
		say(fixture, CONTEXT_WORD_ASK);
		assert_int_equal(told(fixture, CU_CTX_DEVICE_V2), 2 + i);
	}
}

static void behind_an_exec_devices_are_told_again(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	say(fixture, CONTEXT_WORD_ASK);
	assert_int_equal(told(fixture, CU_CTX_DEVICE_V2), 1);
	say(fixture, CONTEXT_WORD_EXEC);
	probe_set_detach(fixture->probes.set, fixture->link);
	watch_contexts(fixture);
	say(fixture, CONTEXT_WORD_ASK);
	assert_int_equal(told(fixture, CU_CTX_DEVICE_V2), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const char *reason = permission_missing();
	const struct CMUnitTest tests[] = {
		TEST(a_device_is_told_once),
		TEST(a_device_that_found_no_place_is_told_again),
		TEST(what_was_unseen_and_found_no_place_is_told_again),
		TEST(behind_the_end_of_a_context_devices_are_told_again),
		TEST(behind_an_exec_devices_are_told_again),
	};

	if (!reason && !probe_link_has_processes())
		reason = "the kernel has no probes in one process alone";
	if (reason) {
		printf("%s\n", reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
