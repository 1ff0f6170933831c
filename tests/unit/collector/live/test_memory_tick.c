#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/collector/live/device_fixture.h"
#include "tests/unit/collector/live/publish_fixture.h"

#define MEMORY                                                                    \
	"{__delta__=\"false\", __name__=\"memory\", cluster=\"default\", "        \
	"cuda_class=\"device\", gpu=\"unknown\", hostname=\"box\", pid=\"100\", " \
	"proc_comm=\"worker\", service_name=\"worker-gpu\"}"
#define MALLOC                                                                  \
	"{__delta__=\"false\", __name__=\"process_cpu\", cluster=\"default\", " \
	"hostname=\"box\", proc_comm=\"worker\", service_name=\"worker\"}"
#define FAILED                                                                              \
	"{__delta__=\"false\", __name__=\"gpu_memory_failed\", cluster=\"default\", "       \
	"cuda_class=\"device\", cuda_error=\"CUDA_ERROR_OUT_OF_MEMORY\", gpu=\"unknown\", " \
	"hostname=\"box\", pid=\"100\", proc_comm=\"worker\", service_name=\"worker-gpu\"}"
#define PEAK                                                                        \
	"{__delta__=\"false\", __name__=\"gpu_memory_peak\", cluster=\"default\", " \
	"gpu=\"unknown\", hostname=\"box\", pid=\"100\", proc_comm=\"worker\", "    \
	"service_name=\"worker-gpu\"}"
#define HEARTBEAT                                                          \
	"{__delta__=\"false\", __name__=\"memory\", cluster=\"default\", " \
	"hostname=\"box\", service_name=\"vramscope-collector-gpu\"}"

static void a_tick_has_deltas_and_what_lives(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t grow = STACK_OF(fixture->stacks, "grow", "main");
	const uint32_t fill = STACK_OF(fixture->stacks, "fill", "main");
	const struct note *note;

	take(fixture, alloc_event(0x1000, 100), grow);
	take(fixture, alloc_event(0x2000, 30), grow);
	take(fixture, alloc_event(0x3000, 7), fill);
	take(fixture, free_event(0x1000), 0);
	publish(fixture);
	assert_int_equal(fixture->pushes, 1);
	assert_int_equal(fixture->count, 3); /* the heartbeat, memory, malloc */
	note = note_of(fixture, MEMORY, "alloc_space");
	assert_non_null(note);
	assert_int_equal(note->samples, 2);
	assert_int_equal(note->totals[0], 137);
	assert_int_equal(note->totals[1], 3);
	assert_int_equal(note->totals[2], 37);
	assert_int_equal(note->totals[3], 2);
	assert_int_equal(note->time_unix_ns, 15000);
	assert_int_equal(note->duration_ns, 15);
	note = note_of(fixture, MALLOC, "malloc");
	assert_non_null(note);
	assert_int_equal(note->totals[0], 137);

	/* what lives is written again, and no byte was allocated twice */
	publish(fixture);
	assert_int_equal(fixture->count, 2);
	note = note_of(fixture, MEMORY, "alloc_space");
	assert_non_null(note);
	assert_int_equal(note->totals[0], 0);
	assert_int_equal(note->totals[2], 37);

	take(fixture, free_event(0x2000), 0);
	take(fixture, free_event(0x3000), 0);
	publish(fixture);
	assert_int_equal(fixture->count, 2); /* nothing lives, nothing happened; it runs */
	note = note_of(fixture, MEMORY, "inuse_space");
	assert_non_null(note);
	assert_int_equal(note->samples, 0);

	/* what came and went within a tick: the deltas, and that it holds nothing */
	take(fixture, alloc_event(0x4000, 5), fill);
	take(fixture, free_event(0x4000), 0);
	publish(fixture);
	assert_int_equal(fixture->count, 4);
	assert_int_equal(note_of(fixture, MEMORY, "alloc_space")->totals[0], 5);
	assert_non_null(note_of(fixture, MEMORY, "inuse_space"));

	gpu_process_end(gpu_process_table_at(fixture->processes, 0), 2000);
	publish(fixture);
	assert_int_equal(fixture->count, 2); /* the heartbeat, and the highest point of it */
	publish(fixture);
	assert_int_equal(fixture->count, 1);
}

static void an_idle_machine_has_a_heartbeat(void **state)
{
	struct fixture *fixture = *state;
	const struct note *note;

	publish(fixture);
	assert_int_equal(fixture->count, 1);
	note = note_of(fixture, HEARTBEAT, "inuse_space");
	assert_non_null(note);
	assert_int_equal(note->samples, 0);
}

static void what_was_there_before_is_live_and_was_never_allocated(void **state)
{
	struct fixture *fixture = *state;
	const struct cuda_event event = alloc_event(0x1000, 100);
	struct gpu_process *process = gpu_process_table_get(fixture->processes, &event);
	const struct note *note;

	gpu_account_set_earlier(&process->account, 70);
	publish(fixture);
	assert_int_equal(fixture->count, 2); /* the heartbeat, memory: no malloc */
	note = note_of(fixture, MEMORY, "alloc_space");
	assert_non_null(note);
	assert_int_equal(note->samples, 1);
	assert_int_equal(note->totals[0], 0);
	assert_int_equal(note->totals[1], 0);
	assert_int_equal(note->totals[2], 70);
	assert_int_equal(note->totals[3], 1);

	/* beside what calls told of, and in the highest point */
	take(fixture, event, STACK_OF(fixture->stacks, "grow", "main"));
	gpu_account_set_earlier(&process->account, 60);
	publish_at(fixture, (struct stack_profile_time){ 40000, 15 }, MEMORY_TICK_USUAL);
	note = note_of(fixture, MEMORY, "alloc_space");
	assert_non_null(note);
	assert_int_equal(note->totals[0], 100);
	assert_int_equal(note->totals[2], 160);
	note = note_of(fixture, PEAK, "peak_space");
	assert_non_null(note);
	assert_int_equal(note->totals[0], 170);

	/* gone: it runs, and holds nothing */
	take(fixture, free_event(0x1000), 0);
	gpu_account_set_earlier(&process->account, 0);
	publish(fixture);
	note = note_of(fixture, MEMORY, "inuse_space");
	assert_non_null(note);
	assert_int_equal(note->samples, 0);
}

static void failures_are_a_series_for_each_error(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t grow = STACK_OF(fixture->stacks, "grow", "main");
	const uint32_t fill = STACK_OF(fixture->stacks, "fill", "main");
	const struct note *note;

	take(fixture, failed_event(1 << 20, 2), grow);
	take(fixture, failed_event(1 << 20, 1), grow);
	take(fixture, failed_event(1 << 10, 2), fill);
	publish(fixture);
	assert_int_equal(fixture->count, 3);
	note = note_of(fixture, FAILED, "requested_space");
	assert_non_null(note);
	assert_int_equal(note->samples, 2);
	assert_int_equal(note->totals[0], (1 << 20) + (1 << 10));
	assert_int_equal(note->totals[1], 2);
	publish(fixture);
	assert_int_equal(fixture->count, 1);
}

static void what_a_process_did_before_its_end_is_published(void **state)
{
	struct fixture *fixture = *state;
	const struct cuda_event event = alloc_event(0x1000, 100);
	struct gpu_process *process = gpu_process_table_get(fixture->processes, &event);
	const struct note *note;

	take(fixture, event, STACK_OF(fixture->stacks, "grow", "main"));
	gpu_process_end(process, 2000);
	publish(fixture);
	note = note_of(fixture, MEMORY, "alloc_space");
	assert_non_null(note);
	assert_int_equal(note->totals[0], 100);
	assert_int_equal(note->totals[2], 0);
	assert_false(process->is_published); /* the kernel's last counters are to come */
	process->is_settled = true;
	publish(fixture);
	assert_true(process->is_published);
	assert_int_equal(fixture->count, 1);
}

/* Where a process runs stands on each of its series, and on that of other collectors. */
static void labels_of_a_container_stand_on_every_series(void **state)
{
	static const char *const values[IDENTITY_LABEL_COUNT] = {
		[IDENTITY_NAMESPACE] = "prod",
		[IDENTITY_POD] = "llm-0",
		[IDENTITY_CONTAINER] = "train",
		[IDENTITY_NODE] = "n1",
		[IDENTITY_OWNER_KIND] = "Deployment",
		[IDENTITY_OWNER_NAME] = "llm",
		[IDENTITY_RUNTIME_CONTAINER] = "r",
		[IDENTITY_CONTAINER_ID] = "a1b2c3d4e5f6",
		[IDENTITY_SLURM_JOB] = "17",
		[IDENTITY_UNIT] = "u",
		[IDENTITY_USER] = "ada",
	};
	struct fixture *fixture = *state;
	const struct cuda_event event = alloc_event(0x1000, 100);
	struct gpu_process *process = gpu_process_table_get(fixture->processes, &event);

	for (size_t i = 0; i < IDENTITY_LABEL_COUNT; i++)
		assert_true(label_text_set(&process->identity.labels[i], str_of(values[i])));
	take(fixture, event, STACK_OF(fixture->stacks, "grow", "main"));
	publish(fixture);
	assert_non_null(note_of(
		fixture,
		"{__delta__=\"false\", __name__=\"memory\", cluster=\"default\", "
		"container_id=\"a1b2c3d4e5f6\", cuda_class=\"device\", gpu=\"unknown\", "
		"hostname=\"box\", k8s_containerName=\"train\", k8s_namespace=\"prod\", "
		"k8s_node=\"n1\", k8s_owner_kind=\"Deployment\", k8s_owner_name=\"llm\", "
		"k8s_podName=\"llm-0\", pid=\"100\", proc_comm=\"worker\", "
		"runtime_containerName=\"r\", service_name=\"worker-gpu\", slurm_job_id=\"17\", "
		"systemd_unit=\"u\", user=\"ada\"}",
		"alloc_space"));
	assert_non_null(note_of(
		fixture,
		"{__delta__=\"false\", __name__=\"process_cpu\", cluster=\"default\", "
		"container_id=\"a1b2c3d4e5f6\", hostname=\"box\", k8s_containerName=\"train\", "
		"k8s_namespace=\"prod\", k8s_node=\"n1\", k8s_owner_kind=\"Deployment\", "
		"k8s_owner_name=\"llm\", k8s_podName=\"llm-0\", proc_comm=\"worker\", "
		"runtime_containerName=\"r\", service_name=\"worker\", slurm_job_id=\"17\", "
		"systemd_unit=\"u\", user=\"ada\"}",
		"malloc"));
}

/* What it allocated before its name is known is in the first tick behind that, once. */
static void who_is_late_is_held_and_loses_nothing(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t stack = STACK_OF(fixture->stacks, "grow", "main");
	const uint32_t gone = STACK_OF(fixture->stacks, "try", "main");
	const struct cuda_event event = alloc_event(0x1000, 100);
	struct gpu_process *process = gpu_process_table_get(fixture->processes, &event);
	const struct note *note;

	process->identity.is_late = true;
	take(fixture, event, stack);
	take(fixture, failed_event(1000, 2), gone);
	publish(fixture);
	assert_int_equal(fixture->count, 1);
	assert_string_equal(fixture->notes[0].labels, HEARTBEAT);
	take(fixture, alloc_event(0x2000, 11), stack);
	take(fixture, free_event(0x1000), STACK_LOST);
	publish(fixture);
	assert_int_equal(fixture->count, 1);
	/* it ends, and is not forgotten */
	gpu_process_end(process, 2000);
	process->is_settled = true;
	publish(fixture);
	assert_false(process->is_published);

	process->identity.is_late = false;
	publish(fixture);
	note = note_of(fixture, MEMORY, "alloc_space");
	assert_non_null(note);
	assert_int_equal(note->totals[0], 111);
	assert_int_equal(note->totals[1], 2);
	assert_int_equal(note->totals[2], 0);
	assert_non_null(note_of(fixture, FAILED, "requested_space"));
	assert_int_equal(note_of(fixture, FAILED, "requested_space")->totals[0], 1000);
	assert_true(process->is_published);
	publish(fixture);
	assert_int_equal(fixture->count, 1);
}

static void a_series_too_large_for_one_profile_is_several(void **state)
{
	struct fixture *fixture = *state;
	const size_t stacks = 2 * STACK_PROFILE_SAMPLES_MAX + 10;
	size_t profiles = 0;
	int64_t bytes = 0;
	char name[32];

	for (uint64_t i = 0; i < stacks; i++) {
		(void)snprintf(name, sizeof(name), "f%llu", (unsigned long long)i);
		take(fixture, alloc_event((i + 1) << 12, i),
		     STACK_OF(fixture->stacks, name, "main"));
	}
	publish(fixture);
	for (size_t i = 0; i < fixture->count; i++) {
		if (strcmp(fixture->notes[i].labels, MEMORY) != 0)
			continue;
		profiles++;
		bytes += fixture->notes[i].totals[2];
		assert_in_range(fixture->notes[i].samples, 1, STACK_PROFILE_SAMPLES_MAX);
	}
	assert_int_equal(profiles, 3);
	assert_int_equal(bytes, (int64_t)(stacks * (stacks - 1) / 2));
	assert_int_equal(memory_tick_counts(fixture->tick).dropped, 0);
}

static void a_tick_too_large_for_one_push_is_several(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t processes = 60;
	const uint64_t stacks = 5000;
	int64_t bytes = 0;
	size_t pushes;

	for (uint64_t i = 0; i < stacks; i++) {
		char name[32];
		uint32_t stack;

		(void)snprintf(name, sizeof(name), "f%llu", (unsigned long long)i);
		stack = STACK_OF(fixture->stacks, name, "main");
		for (uint32_t pid = 0; pid < processes; pid++) {
			struct cuda_event event = alloc_event((i + 1) << 12, 1);

			event.tgid = 100 + pid;
			take(fixture, event, stack);
		}
	}
	publish(fixture);
	pushes = fixture->pushes;
	assert_in_range(pushes, 2, 20);
	for (size_t i = 0; i < fixture->count; i++)
		if (strcmp(fixture->notes[i].type, "alloc_space") == 0)
			bytes += fixture->notes[i].totals[2];
	assert_int_equal(bytes, (int64_t)(processes * stacks));
	assert_int_equal(memory_tick_counts(fixture->tick).dropped, 0);
}

static void stacks_that_nothing_refers_to_are_thrown_away(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t kept = STACK_OF(fixture->stacks, "kept", "main");
	const struct note *note;
	char name[32];

	take(fixture, alloc_event(1, 100), kept);
	for (uint64_t i = 0; i < 10000; i++) {
		(void)snprintf(name, sizeof(name), "f%llu", (unsigned long long)i);
		take(fixture, alloc_event((i + 1) << 12, 1),
		     STACK_OF(fixture->stacks, name, "main"));
		take(fixture, free_event((i + 1) << 12), 0);
	}
	publish(fixture);
	assert_in_range(stack_table_count(fixture->stacks), 1, 100);
	/* the block that lives has moved with its stack */
	take(fixture, free_event(1), 0);
	take(fixture, alloc_event(1, 60), STACK_OF(fixture->stacks, "kept", "main"));
	publish(fixture);
	note = note_of(fixture, MEMORY, "alloc_space");
	assert_non_null(note);
	assert_int_equal(note->samples, 1);
	assert_int_equal(note->totals[0], 60);
	assert_int_equal(note->totals[2], 60);
	stack_table_check(fixture->stacks);
	gpu_account_check(&gpu_process_table_at(fixture->processes, 0)->account);
}

#define DEVICE(number)                                                                \
	"{__delta__=\"false\", __name__=\"gpu_memory_device\", cluster=\"default\", " \
	"gpu=\"GPU-" number "\", hostname=\"box\", "                                  \
	"service_name=\"vramscope-collector-gpu\"}"

static void a_device_has_a_profile_a_tick_of_what_it_says(void **state)
{
	static const uint64_t used[] = { 500, 700, 9 };
	struct fixture *fixture = *state;
	CLEANUP(device_books_freep) struct device_books *devices = empty_books();
	CLEANUP(mem_freep) struct device_picture *picture = picture_of(used, 3);
	const struct note *note;

	open_tick(fixture, &(struct memory_tick_options){ .devices = devices });
	picture->devices[2].has_memory = false;
	device_books_take(devices, picture);
	publish(fixture);
	assert_int_equal(fixture->count, 3); /* with the heartbeat */
	note = note_of(fixture, DEVICE("1"), "used_space");
	assert_non_null(note);
	assert_int_equal(note->samples, 1);
	assert_int_equal(note->totals[0], 700);
	assert_int_equal(note->totals[1], 1000);
	assert_int_equal(note->time_unix_ns, 15000);
	assert_int_equal(note_of(fixture, DEVICE("0"), "used_space")->totals[0], 500);
	publish(fixture); /* nothing was said since */
	assert_int_equal(fixture->count, 1);
}

static void series_of_a_process_say_its_device(void **state)
{
	static const uint64_t used[] = { 500 };
	struct fixture *fixture = *state;
	CLEANUP(device_books_freep) struct device_books *devices = empty_books();
	CLEANUP(mem_freep) struct device_picture *picture = picture_of(used, 1);
	size_t count = 0;

	open_tick(fixture, &(struct memory_tick_options){ .devices = devices });
	take(fixture, alloc_event(0x1000, 400), STACK_OF(fixture->stacks, "load", "main"));
	device_books_take(devices, picture);
	device_books_settle(devices, fixture->processes);
	publish(fixture);
	for (size_t i = 0; i < fixture->count; i++)
		count += strstr(fixture->notes[i].labels, "pid=\"100\"") &&
		         strstr(fixture->notes[i].labels, "gpu=\"GPU-0\"");
	assert_int_equal(count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(labels_of_a_container_stand_on_every_series, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(who_is_late_is_held_and_loses_nothing, set_up,
		                                tear_down),
		TEST(a_tick_has_deltas_and_what_lives),
		TEST(an_idle_machine_has_a_heartbeat),
		TEST(what_was_there_before_is_live_and_was_never_allocated),
		TEST(failures_are_a_series_for_each_error),
		TEST(what_a_process_did_before_its_end_is_published),
		TEST(a_series_too_large_for_one_profile_is_several),
		TEST(a_tick_too_large_for_one_push_is_several),
		TEST(stacks_that_nothing_refers_to_are_thrown_away),
		TEST(a_device_has_a_profile_a_tick_of_what_it_says),
		TEST(series_of_a_process_say_its_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
