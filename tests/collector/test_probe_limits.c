/*
 * More calls than are sent whole: storms, a full ring; and what stays when it is over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tests/collector/permission.h"
#include "tests/collector/probe_fixture.h"

static void a_storm_has_its_share_of_stacks(void **state)
{
	enum {
		LIMIT = 10,
		BURST = LIMIT * PROBE_STORM_SECONDS
	};
	struct probe_fixture fixture = { .set = NULL };
	struct workload workload;
	size_t stacks = 0;

	(void)state;
	probe_fixture_init(&fixture, &(struct probe_set_options){ .storm_limit = LIMIT });
	workload = probe_fixture_run(&fixture, "storm", (uint64_t[]){ 2000, 4096, 0 }, NULL);
	assert_counted(&fixture, &workload, workload.pid);
	assert_int_equal(probe_fixture_counted(&fixture, workload.pid).alloc_bytes, 2000 * 4096);
	for (size_t i = 0; i < 2000; i++) {
		const struct cuda_event *event =
			event_log_find(&fixture.log, workload.pid, CUDA_EVENT_ALLOC, i);

		assert_non_null(event);
		if (event_log_stack(&fixture.log, event))
			stacks++;
		else
			assert_true(event->flags & CUDA_EVENT_SAMPLED);
	}
	assert_int_equal(stacks + probe_fixture_lost(&fixture, LOSS_SAMPLED), 2000);
	/* A burst, and some more for the seconds that it took. */
	assert_true(stacks >= BURST && stacks < 2000 - BURST);
	workload_fini(&workload);

	workload = probe_fixture_run(&fixture, "storm", (uint64_t[]){ 300, 1 << 20, 0 }, NULL);
	assert_int_equal(probe_fixture_lost(&fixture, LOSS_SAMPLED), 0);
	assert_counted(&fixture, &workload, workload.pid);
	workload_fini(&workload);
	probe_fixture_fini(&fixture);
}

static void a_ring_that_is_full_loses_no_byte_of_the_sums(void **state)
{
	struct probe_fixture fixture = { .set = NULL };
	struct workload workload;
	size_t events;
	size_t without_stack = 0;

	(void)state;
	probe_fixture_init(&fixture, &(struct probe_set_options){ .event_ring_bytes = 262144 });
	workload = probe_fixture_start(&fixture, "storm", (uint64_t[]){ 2000, 777, 0 }, NULL);
	while (!workload_has_ended(&workload)) /* nobody drains */
		probe_fixture_pause();
	while (probe_set_drain(fixture.set, 1000) > 0)
		;
	assert_counted(&fixture, &workload, workload.pid);
	assert_int_equal(probe_fixture_counted(&fixture, workload.pid).alloc_bytes, 2000 * 777);
	events = event_log_count(&fixture.log, workload.pid, CUDA_EVENT_ALLOC) +
	         event_log_count(&fixture.log, workload.pid, CUDA_EVENT_FREE) +
	         event_log_count(&fixture.log, workload.pid, CUDA_EVENT_EXIT);
	for (size_t i = 0; i < fixture.log.count; i++)
		without_stack += (fixture.log.events[i]->flags & CUDA_EVENT_STACK_DROPPED) != 0;
	assert_int_equal(events + probe_fixture_lost(&fixture, LOSS_RING_FULL), 2000 + 2000 + 1);
	assert_true(probe_fixture_lost(&fixture, LOSS_RING_FULL) > 3000);
	assert_true(without_stack > 0);
	workload_fini(&workload);
	probe_fixture_fini(&fixture);
}

/* Until when what a process has sent counts; 0: it has sent nothing yet. */
static uint64_t share_of(const struct probe_fixture *fixture, struct process_key *key)
{
	const struct cuda_event *any = event_log_find(&fixture->log, (pid_t)key->tgid, 0, 0);
	struct process_calls calls = { .share_ns = 0 };

	if (any)
		key->start_ns = any->process_start_ns;
	(void)probe_set_calls(fixture->set, key, &calls);
	return calls.share_ns;
}

/* Drains until a process has sent so much that for a while it has no share of the ring. */
static void drain_until_noisy(struct probe_fixture *fixture, pid_t pid)
{
	struct process_key key = { .tgid = (uint32_t)pid };

	while (share_of(fixture, &key) < (uint64_t)clock_boot_ns() + RING_SHARE_NS / 4 * 3) {
		event_log_reset(&fixture->log);
		(void)probe_set_drain(fixture->set, 1000);
	}
}

/* Drains until a process has made its first call, and has its whole share again. */
static void drain_until_quiet(struct probe_fixture *fixture, const struct workload *workload)
{
	struct process_key key = { .tgid = (uint32_t)workload->pid };
	uint64_t used = 0;

	while (!workload_is_ready(workload, 1) || used == 0 || used > (uint64_t)clock_boot_ns()) {
		if (probe_set_drain(fixture->set, 1000) == 0)
			probe_fixture_pause();
		used = share_of(fixture, &key);
	}
}

static void who_sends_little_has_a_place_in_a_full_ring(void **state)
{
	enum {
		NOISY = 6,
		CALLS = 8
	};
	struct workload noisy[NOISY];
	struct probe_fixture fixture = { .set = NULL };
	struct workload quiet;

	(void)state;
	probe_fixture_init(&fixture, &(struct probe_set_options){ .storm_limit = 0 });
	quiet = probe_fixture_start(&fixture, "patient", (uint64_t[]){ CALLS, 0 }, NULL);
	drain_until_quiet(&fixture, &quiet);
	for (size_t i = 0; i < NOISY; i++)
		noisy[i] = probe_fixture_start(&fixture, "storm",
		                               (uint64_t[]){ UINT32_MAX, 4096, 0 }, NULL);
	for (size_t i = 0; i < NOISY; i++)
		drain_until_noisy(&fixture, noisy[i].pid);
	event_log_reset(&fixture.log);
	/* nobody drains any more, and they go on */
	while (probe_fixture_lost(&fixture, LOSS_RING_FULL) == 0 ||
	       probe_fixture_lost(&fixture, LOSS_STACK) == 0)
		probe_fixture_pause();
	workload_go_on(&quiet);
	while (!workload_has_ended(&quiet))
		probe_fixture_pause();
	for (size_t i = 0; i < NOISY; i++)
		workload_fini(&noisy[i]);
	while (probe_set_drain(fixture.set, 1000) > 0)
		;
	assert_int_equal(event_log_count(&fixture.log, quiet.pid, CUDA_EVENT_ALLOC), CALLS);
	assert_int_equal(event_log_count(&fixture.log, quiet.pid, CUDA_EVENT_FREE), CALLS / 2);
	assert_int_equal(event_log_count(&fixture.log, quiet.pid, CUDA_EVENT_EXIT), 1);
	for (size_t i = 0; i < CALLS; i++)
		assert_non_null(
			event_log_stack(&fixture.log, event_log_find(&fixture.log, quiet.pid,
		                                                     CUDA_EVENT_ALLOC, i)));
	workload_fini(&quiet);
	probe_fixture_fini(&fixture);
}

static void count_processes(void *context, const struct process_key *key,
                            const struct process_calls *calls)
{
	(void)calls;
	*(size_t *)context += key->tgid != 0;
}

static void what_has_ended_is_forgotten_when_told(void **state)
{
	struct probe_fixture fixture = { .set = NULL };
	struct process_calls calls;
	size_t processes = 0;

	(void)state;
	probe_fixture_init(&fixture, &(struct probe_set_options){ .storm_limit = 0 });
	for (size_t i = 0; i < 3; i++) {
		struct workload workload =
			probe_fixture_run(&fixture, "pairs", (uint64_t[]){ 1, 0 }, NULL);
		const struct cuda_event *any = event_log_find(&fixture.log, workload.pid, 0, 0);
		const struct process_key key = { .start_ns = any->process_start_ns,
			                         .tgid = any->tgid };

		assert_true(probe_set_calls(fixture.set, &key, &calls));
		if (i > 0) {
			probe_set_forget(fixture.set, &key);
			assert_false(probe_set_calls(fixture.set, &key, &calls));
		}
		workload_fini(&workload);
	}
	probe_set_each_process(fixture.set, count_processes, &processes);
	assert_int_equal(processes, 1);
	probe_fixture_fini(&fixture);
}

static void nothing_is_seen_after_detaching(void **state)
{
	struct probe_fixture fixture = { .set = NULL };
	struct workload workload;

	(void)state;
	probe_fixture_init(&fixture, &(struct probe_set_options){ .storm_limit = 0 });
	probe_set_detach(fixture.set, fixture.link);
	fixture.link = NULL;
	while (probe_set_closing(fixture.set) > 0)
		probe_fixture_pause();
	workload = probe_fixture_start(&fixture, "pairs", (uint64_t[]){ 5, 0 }, NULL);
	while (!workload_has_ended(&workload))
		probe_fixture_pause();
	while (probe_set_drain(fixture.set, 1000) > 0)
		;
	assert_int_equal(event_log_count(&fixture.log, workload.pid, 0), 0);
	workload_fini(&workload);
	probe_fixture_fini(&fixture);
}

int main(void)
{
	const char *reason = permission_missing();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_storm_has_its_share_of_stacks),
		cmocka_unit_test(a_ring_that_is_full_loses_no_byte_of_the_sums),
		cmocka_unit_test(who_sends_little_has_a_place_in_a_full_ring),
		cmocka_unit_test(what_has_ended_is_forgotten_when_told),
		cmocka_unit_test(nothing_is_seen_after_detaching),
	};

	if (reason) {
		printf("%s\n", reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
