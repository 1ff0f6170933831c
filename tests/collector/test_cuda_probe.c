/*
 * The programs in the kernel on the stub driver: what they send and count is what the
 * workloads say they did, to the byte and in order; with each way to attach and to keep calls.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/collector/permission.h"
#include "tests/collector/probe_fixture.h"
#include "tests/collector/stub/stub_result.h"

static void every_call_is_one_event(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload =
		probe_fixture_run(fixture, "pairs", (uint64_t[]){ 100, 0 }, NULL);
	const struct cuda_counters sum = probe_fixture_counted(fixture, workload.pid);

	assert_same_calls(fixture, &workload);
	assert_counted(fixture, &workload, workload.pid);
	/* 1000 + 2000 + ... + 100000 */
	assert_int_equal(sum.alloc_bytes, 5050000);
	assert_int_equal(sum.alloc_calls, 100);
	assert_int_equal(sum.free_calls, 50);
	assert_nothing_lost(fixture);
	workload_fini(&workload);
}

static void failures_are_no_allocations(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload =
		probe_fixture_run(fixture, "pairs", (uint64_t[]){ 99, 0 }, "STUB_FAIL_EVERY=3");
	const struct cuda_counters sum = probe_fixture_counted(fixture, workload.pid);

	assert_same_calls(fixture, &workload);
	assert_counted(fixture, &workload, workload.pid);
	assert_int_equal(sum.alloc_failures, 33);
	assert_int_equal(sum.alloc_calls, 66);
	assert_int_equal(event_log_find(&fixture->log, workload.pid, CUDA_EVENT_FAILED, 0)->result,
	                 STUB_OUT_OF_MEMORY);
	assert_nothing_lost(fixture);
	workload_fini(&workload);
}

static void a_free_that_fails_is_undone(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload = probe_fixture_run(fixture, "bad-free", NULL, NULL);

	assert_same_calls(fixture, &workload);
	assert_counted(fixture, &workload, workload.pid);
	assert_int_equal(probe_fixture_counted(fixture, workload.pid).free_failures, 2);
	workload_fini(&workload);
}

static void functions_within_functions_count_once(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload = probe_fixture_run(fixture, "classes", NULL, NULL);
	const struct cuda_event *any = event_log_find(&fixture->log, workload.pid, 0, 0);
	struct process_calls calls;

	assert_same_calls(fixture, &workload);
	assert_counted(fixture, &workload, workload.pid);
	/* cuMemAllocAsync by a jump, cuMemFreeAsync by a call. */
	assert_int_equal(probe_fixture_lost(fixture, LOSS_NESTED_CALL), 2 * fixture->links);
	assert_int_equal(probe_fixture_lost(fixture, LOSS_STALE_CALL), 0);
	assert_int_equal(event_log_find(&fixture->log, workload.pid, CUDA_EVENT_ALLOC, 0)->function,
	                 CU_MEM_ALLOC_ASYNC);
	assert_int_equal(event_log_find(&fixture->log, workload.pid, CUDA_EVENT_FREE, 0)->function,
	                 CU_MEM_FREE_ASYNC);
	assert_true(probe_set_calls(fixture->set,
	                            &(struct process_key){ .start_ns = any->process_start_ns,
	                                                   .tgid = any->tgid },
	                            &calls));
	assert_int_equal(calls.by_class[CUDA_CLASS_POOL].alloc_bytes, 700);
	assert_int_equal(calls.by_class[CUDA_CLASS_MANAGED].alloc_bytes, 800);
	assert_int_equal(calls.by_class[CUDA_CLASS_PINNED].alloc_bytes, 900);
	assert_int_equal(calls.exited, 1);
	workload_fini(&workload);
}

static void whatever_a_function_begins_with_it_is_seen(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload =
		probe_fixture_run(fixture, "beginnings", (uint64_t[]){ 50, 0 }, NULL);
	const struct cuda_event *first =
		event_log_find(&fixture->log, workload.pid, CUDA_EVENT_ALLOC, 0);
	const struct cuda_event *second =
		event_log_find(&fixture->log, workload.pid, CUDA_EVENT_ALLOC, 1);

	assert_same_calls(fixture, &workload);
	assert_counted(fixture, &workload, workload.pid);
	assert_int_equal(first->function, CU_MEM_ALLOC_HOST_V2);
	assert_int_equal(second->function, CU_MEM_ALLOC_FROM_POOL_ASYNC);
	/* Each is done by another function of the library. */
	assert_int_equal(probe_fixture_lost(fixture, LOSS_NESTED_CALL), 100 * fixture->links);
	assert_int_equal(probe_fixture_lost(fixture, LOSS_STALE_CALL), 0);
	workload_fini(&workload);
}

static void a_process_ends_with_its_last_thread(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload = probe_fixture_run(fixture, "leader", NULL, NULL);

	assert_same_calls(fixture, &workload);
	assert_counted(fixture, &workload, workload.pid);
	assert_int_equal(probe_fixture_counted(fixture, workload.pid).alloc_bytes, 1500 + 2500);
	workload_fini(&workload);
}

static void calls_that_are_left_do_not_hide_others(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload =
		probe_fixture_run(fixture, "longjmp", (uint64_t[]){ 20, 0 }, NULL);

	assert_same_calls(fixture, &workload);
	assert_counted(fixture, &workload, workload.pid);
	assert_int_equal(probe_fixture_lost(fixture, LOSS_NESTED_CALL), 0);
	assert_true(probe_fixture_lost(fixture, LOSS_STALE_CALL) > 0);
	workload_fini(&workload);
}

static void calls_from_a_callback_count_too(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload = probe_fixture_run(fixture, "callback", NULL, NULL);

	assert_same_calls(fixture, &workload);
	assert_counted(fixture, &workload, workload.pid);
	assert_int_equal(probe_fixture_counted(fixture, workload.pid).alloc_bytes, 40 + 50 + 60);
	assert_int_equal(probe_fixture_lost(fixture, LOSS_NESTED_CALL), 0);
	workload_fini(&workload);
}

static void a_fork_inside_a_call_counts_once(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload = probe_fixture_run(fixture, "fork", NULL, NULL);
	const pid_t child = (pid_t)workload_number(&workload, "pid", 0);
	const struct cuda_event *event;

	assert_int_not_equal(child, workload.pid);
	assert_counted(fixture, &workload, workload.pid);
	assert_counted(fixture, &workload, child);
	event = event_log_find(&fixture->log, workload.pid, CUDA_EVENT_ALLOC, 0);
	assert_int_equal(event->bytes, 5000);
	assert_int_equal(event_log_count(&fixture->log, workload.pid, CUDA_EVENT_ALLOC), 1);
	event = event_log_find(&fixture->log, child, CUDA_EVENT_ALLOC, 0);
	assert_int_equal(event->bytes, 6000);
	assert_int_equal(event_log_count(&fixture->log, child, CUDA_EVENT_ALLOC), 1);
	assert_int_equal(event_log_count(&fixture->log, child, CUDA_EVENT_EXIT), 1);
	workload_fini(&workload);
}

static void a_process_killed_inside_a_call_ends(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload = probe_fixture_run(fixture, "killed", NULL, NULL);

	assert_true(WIFSIGNALED(workload.status) && WTERMSIG(workload.status) == SIGKILL);
	assert_same_calls(fixture, &workload);
	assert_counted(fixture, &workload, workload.pid);
	workload_fini(&workload);
}

static void exec_ends_the_old_program(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload = probe_fixture_run(fixture, "exec", NULL, NULL);
	static const uint32_t kinds[] = {
		CUDA_EVENT_INIT,  CUDA_EVENT_ALLOC, CUDA_EVENT_EXEC, CUDA_EVENT_INIT,
		CUDA_EVENT_ALLOC, CUDA_EVENT_ALLOC, CUDA_EVENT_FREE, CUDA_EVENT_EXIT,
	};
	const struct cuda_stack_event *before;
	const struct cuda_stack_event *after;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		assert_int_equal(event_log_find(&fixture->log, workload.pid, 0, i)->kind, kinds[i]);
	assert_int_equal(event_log_count(&fixture->log, workload.pid, 0), 8);
	assert_int_equal(probe_fixture_counted(fixture, workload.pid).alloc_bytes,
	                 3000 + 1000 + 2000);
	before = event_log_stack(&fixture->log, event_log_find(&fixture->log, workload.pid, 0, 0));
	after = event_log_stack(&fixture->log, event_log_find(&fixture->log, workload.pid, 0, 3));
	assert_non_null(before);
	assert_non_null(after);
	assert_memory_not_equal(&before->stack.exec, &after->stack.exec,
	                        sizeof(struct exec_identity));
	workload_fini(&workload);
}

/* Nothing is freed or given out twice when the events are replayed in the ring's order. */
static void assert_order(const struct probe_fixture *fixture, pid_t pid)
{
	enum {
		ADDRESSES_MAX = 1 << 16,
		GRANULE = 512
	};
	static bool live[ADDRESSES_MAX];
	uint64_t lowest = UINT64_MAX;

	memset(live, 0, sizeof(live));
	for (size_t i = 0; i < fixture->log.count; i++) {
		const struct cuda_event *event = fixture->log.events[i];

		if (event->tgid == (uint32_t)pid && event->kind == CUDA_EVENT_ALLOC &&
		    event->address < lowest)
			lowest = event->address;
	}
	for (size_t i = 0; i < fixture->log.count; i++) {
		const struct cuda_event *event = fixture->log.events[i];
		const uint64_t place = (event->address - lowest) / GRANULE;

		if (event->tgid != (uint32_t)pid ||
		    (event->kind != CUDA_EVENT_ALLOC && event->kind != CUDA_EVENT_FREE))
			continue;
		assert_true(place < ADDRESSES_MAX);
		assert_true(live[place] == (event->kind == CUDA_EVENT_FREE));
		live[place] = !live[place];
	}
}

static void many_threads_lose_nothing_and_keep_order(void **state)
{
	struct probe_fixture *fixture = *state;
	struct workload workload =
		probe_fixture_run(fixture, "threads", (uint64_t[]){ 64, 100, 0 }, NULL);

	assert_counted(fixture, &workload, workload.pid);
	assert_int_equal(probe_fixture_counted(fixture, workload.pid).alloc_calls, 6400);
	assert_int_equal(probe_fixture_lost(fixture, LOSS_RING_FULL), 0);
	assert_int_equal(probe_fixture_lost(fixture, LOSS_CALL_STATE), 0);
	assert_int_equal(event_log_count(&fixture->log, workload.pid, CUDA_EVENT_ALLOC), 6400);
	assert_int_equal(event_log_count(&fixture->log, workload.pid, CUDA_EVENT_FREE), 6400);
	assert_order(fixture, workload.pid);
	workload_fini(&workload);
}

/* The word that the copied stack has at an address of the thread. */
static uint64_t stack_word(const struct cuda_stack_event *event, uint64_t address)
{
	uint64_t word;

	assert_true(address >= event->stack.base);
	assert_true(address + sizeof(word) <= event->stack.base + event->stack.length);
	memcpy(&word, event->bytes + (address - event->stack.base), sizeof(word));
	return word;
}

static void assert_stack_below(struct probe_fixture *fixture, uint64_t room)
{
	enum {
		PATTERN = 0x5eed
	};
	struct workload workload =
		probe_fixture_run(fixture, "stack", (uint64_t[]){ room, PATTERN, 0 }, NULL);

	for (size_t i = 0; i < 2; i++) {
		const struct cuda_event *event =
			event_log_find(&fixture->log, workload.pid, CUDA_EVENT_ALLOC, i);
		const struct cuda_stack_event *captured = event_log_stack(&fixture->log, event);
		const uint64_t words = workload_number(&workload, "stack", i);
		const uint64_t function = workload_number(&workload, "function", i);

		assert_non_null(captured);
		assert_true(captured->stack.registers[STACK_REGISTER_RIP] - function < 512);
		assert_true(words - captured->stack.registers[STACK_REGISTER_RSP] < 1024);
		assert_int_equal(captured->stack.base,
		                 captured->stack.registers[STACK_REGISTER_RSP]);
		assert_int_equal(stack_word(captured, words), PATTERN);
		if (room < STACK_BYTES_MAX / 2) {
			assert_int_equal(stack_word(captured, words + room - 8), PATTERN + 1);
			assert_int_equal(captured->stack.flags & CAPTURED_STACK_TRUNCATED, 0);
		} else {
			/* That many bytes of pages, from the stack pointer on. */
			assert_int_equal(captured->stack.length,
			                 STACK_BYTES_MAX - captured->stack.base % STACK_PAGE);
			assert_true(captured->stack.flags & CAPTURED_STACK_TRUNCATED);
		}
		assert_non_null(strstr("workload", event->comm));
		assert_int_equal(event->tid == (uint32_t)workload.pid, i == 0);
	}
	workload_fini(&workload);
}

static void the_stack_of_each_thread_is_copied(void **state)
{
	struct probe_fixture *fixture = *state;

	assert_stack_below(fixture, 1024);
	assert_stack_below(fixture, 12 * 1024);
	assert_stack_below(fixture, 28 * 1024);
	assert_stack_below(fixture, 100 * 1024);
}

/* As happens with a file that is seen through two overlay mounts. */
static void probes_that_hit_twice_count_once(void **state)
{
	struct probe_fixture *fixture = *state;
	struct probe_link *twice = probe_fixture_attach(fixture->set, STUB_DRIVER);

	fixture->links = 2;
	every_call_is_one_event(state);
	a_free_that_fails_is_undone(state);
	functions_within_functions_count_once(state);
	calls_that_are_left_do_not_hide_others(state);
	calls_from_a_callback_count_too(state);
	whatever_a_function_begins_with_it_is_seen(state);
	fixture->links = 1;
	probe_set_detach(fixture->set, twice);
}

static struct probe_fixture common;

/* Even with nobody to drain it, the ring has room for all events of a test without a stack. */
static int set_up_group(void **state, const struct probe_set_options *options)
{
	struct probe_set_options roomy = *options;

	roomy.event_ring_bytes = 16 << 20;
	probe_fixture_init(&common, &roomy);
	*state = &common;
	return 0;
}

static int set_up_multi(void **state)
{
	return set_up_group(state, &(struct probe_set_options){ .method = PROBE_METHOD_MULTI });
}

static int set_up_hash(void **state)
{
	return set_up_group(state, &(struct probe_set_options){ .storage = CALL_STORAGE_HASH });
}

static int set_up_perf(void **state)
{
	return set_up_group(state, &(struct probe_set_options){ .method = PROBE_METHOD_PERF });
}

static int tear_down_group(void **state)
{
	probe_fixture_fini(*state);
	return 0;
}

int main(void)
{
	const char *reason = permission_missing();
	const struct CMUnitTest with_each_method[] = {
		cmocka_unit_test(every_call_is_one_event),
		cmocka_unit_test(failures_are_no_allocations),
		cmocka_unit_test(a_free_that_fails_is_undone),
		cmocka_unit_test(functions_within_functions_count_once),
		cmocka_unit_test(whatever_a_function_begins_with_it_is_seen),
		cmocka_unit_test(a_process_ends_with_its_last_thread),
		cmocka_unit_test(calls_that_are_left_do_not_hide_others),
		cmocka_unit_test(calls_from_a_callback_count_too),
		cmocka_unit_test(a_fork_inside_a_call_counts_once),
		cmocka_unit_test(a_process_killed_inside_a_call_ends),
		cmocka_unit_test(exec_ends_the_old_program),
		cmocka_unit_test(many_threads_lose_nothing_and_keep_order),
		cmocka_unit_test(the_stack_of_each_thread_is_copied),
		cmocka_unit_test(probes_that_hit_twice_count_once),
	};
	int failed;

	if (reason) {
		printf("%s\n", reason);
		return 77;
	}
	failed =
		cmocka_run_group_tests_name("hash", with_each_method, set_up_hash, tear_down_group);
	reason = permission_missing_for_perf();
	if (reason)
		printf("perf events are not tested: %s\n", reason);
	else
		failed += cmocka_run_group_tests_name("perf events", with_each_method, set_up_perf,
		                                      tear_down_group);
	if (probe_link_has_multi())
		failed += cmocka_run_group_tests_name("multi-uprobe links", with_each_method,
		                                      set_up_multi, tear_down_group);
	else
		printf("multi-uprobe links are not tested: the kernel has none\n");
	return failed > 0;
}
