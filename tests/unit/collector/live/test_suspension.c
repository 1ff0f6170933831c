#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/collector/identity/machine_folder.h"
#include "tests/unit/collector/live/publish_fixture.h"

#define TARGET 100 /* of alloc_event() */

static struct cuda_event call_of(enum cuda_function_id function, uint32_t number)
{
	return (struct cuda_event){ .kind = CUDA_EVENT_DONE,
		                    .function = (uint16_t)function,
		                    .tgid = 7,
		                    .process_start_ns = 3,
		                    .address = 4026531836U,
		                    .other = number };
}

static void see(const struct fixture *fixture, enum cuda_function_id function, uint32_t number)
{
	const struct cuda_event event = call_of(function, number);

	assert_true(suspension_is_of(&event));
	suspension_see(fixture->processes, NULL, &event);
}

static size_t count_notes(const struct fixture *fixture, const char *state, int64_t bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < fixture->count; i++)
		count += strcmp(fixture->notes[i].type, "live_space") == 0 &&
		         strstr(fixture->notes[i].labels, "__name__=\"gpu_memory_suspended\"") &&
		         strstr(fixture->notes[i].labels, state) &&
		         fixture->notes[i].totals[0] == bytes;
	return count;
}

static void a_checkpoint_goes_from_lock_to_unlock(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_process *process;

	take(fixture, alloc_event(0x1000, 100), STACK_OF(fixture->stacks, "grow", "main"));
	process = gpu_process_table_at(fixture->processes, 0);
	see(fixture, CU_CHECKPOINT_LOCK, TARGET);
	assert_int_equal(process->suspension, SUSPENSION_LOCKED);
	publish(fixture);
	assert_int_equal(count_notes(fixture, "state=\"locked\"", 100), 1);
	see(fixture, CU_CHECKPOINT, TARGET);
	assert_int_equal(process->suspension, SUSPENSION_CHECKPOINTED);
	publish(fixture);
	assert_int_equal(count_notes(fixture, "state=\"checkpointed\"", 100), 1);
	/* what it holds is what it was */
	assert_true(process->account.gpu_live_bytes == 100);
	gpu_account_check(&process->account);
	see(fixture, CU_CHECKPOINT_RESTORE, TARGET);
	assert_int_equal(process->suspension, SUSPENSION_LOCKED);
	see(fixture, CU_CHECKPOINT_UNLOCK, TARGET);
	assert_int_equal(process->suspension, SUSPENSION_NONE);
	publish(fixture);
	assert_int_equal(count_notes(fixture, "", 100), 0);
}

static void one_that_holds_nothing_says_its_state_too(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, alloc_event(0x1000, 100), STACK_OF(fixture->stacks, "grow", "main"));
	take(fixture, free_event(0x1000), 0);
	see(fixture, CU_CHECKPOINT_LOCK, TARGET);
	publish(fixture);
	assert_int_equal(count_notes(fixture, "state=\"locked\"", 0), 1);
}

static void whoever_is_not_named_goes_on(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_process *process;

	take(fixture, alloc_event(0x1000, 100), STACK_OF(fixture->stacks, "grow", "main"));
	process = gpu_process_table_at(fixture->processes, 0);
	see(fixture, CU_CHECKPOINT_LOCK, 7); /* the caller itself is not there */
	assert_int_equal(process->suspension, SUSPENSION_NONE);
	see(fixture, CU_CHECKPOINT_LOCK, TARGET);
	/* another program, and the end */
	gpu_process_table_exec(fixture->processes, process, 7);
	assert_int_equal(process->suspension, SUSPENSION_NONE);
	gpu_process_end(process, 1);
	see(fixture, CU_CHECKPOINT_LOCK, TARGET);
	assert_int_equal(process->suspension, SUSPENSION_NONE);
	assert_int_equal(gpu_process_table_count(fixture->processes),
	                 2); /* with its former program */
}

/* In a folder that stands for /proc: whoever asks is of the caller's namespace. */
static void only_root_and_the_same_user_are_believed(void **state)
{
	static const struct {
		uint64_t caller;
		enum suspension becomes;
	} cases[] = {
		{ 1001, SUSPENSION_NONE },
		{ 1000, SUSPENSION_LOCKED },
		{ 0, SUSPENSION_LOCKED },
	};
	struct fixture *fixture = *state;
	char proc[] = "/tmp/test_suspension.XXXXXX";
	char way[MACHINE_PATH_BYTES];

	assert_non_null(mkdtemp(proc));
	machine_put_file(proc, "/100/status", "Name:\tapp\nUid:\t1000\t1000\t1000\t1000\n");
	machine_make_way(proc, "/self/ns/pid", way);
	assert_int_equal(symlink("pid:[4026531836]", way), 0);
	take(fixture, alloc_event(0x1000, 100), STACK_OF(fixture->stacks, "grow", "main"));
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct cuda_event event = call_of(CU_CHECKPOINT_LOCK, TARGET);
		struct gpu_process *process = gpu_process_table_at(fixture->processes, 0);

		process->suspension = SUSPENSION_NONE;
		event.bytes = cases[i].caller;
		suspension_see(fixture->processes, proc, &event);
		assert_int_equal(process->suspension, cases[i].becomes);
	}
	machine_remove(proc);
}

static void other_calls_suspend_nobody(void **state)
{
	struct cuda_event event = call_of(CU_CHECKPOINT_LOCK, TARGET);

	(void)state;
	event.kind = CUDA_EVENT_FAILED;
	assert_false(suspension_is_of(&event));
	event = call_of(CU_CTX_CREATE, TARGET);
	assert_false(suspension_is_of(&event));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_checkpoint_goes_from_lock_to_unlock),
		TEST(one_that_holds_nothing_says_its_state_too),
		TEST(whoever_is_not_named_goes_on),
		TEST(only_root_and_the_same_user_are_believed),
		TEST(other_calls_suspend_nobody),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
