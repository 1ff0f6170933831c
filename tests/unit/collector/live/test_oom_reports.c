#include "base/clock.h"
#include "collector/identity/process_start.h"
#include "collector/live/cuda_error.h"
#include "tests/unit/collector/live/publish_fixture.h"

#define GB (UINT64_C(1) << 30)
#define AT INT64_C(1767225600123456789) /* when the call failed */

#define OOM(pid, recovered)                                                                 \
	"{__delta__=\"false\", __name__=\"gpu_memory_oom\", cluster=\"default\", "          \
	"cuda_class=\"device\", cuda_error=\"CUDA_ERROR_OUT_OF_MEMORY\", gpu=\"unknown\", " \
	"hostname=\"box\", pid=\"" pid "\", proc_comm=\"worker\", "                         \
	"recovered=\"" recovered "\", service_name=\"worker-gpu\"}"
#define HELD(pid)                                                                   \
	"{__delta__=\"false\", __name__=\"gpu_memory_peak\", cluster=\"default\", " \
	"gpu=\"unknown\", hostname=\"box\", pid=\"" pid "\", "                      \
	"proc_comm=\"worker\", reason=\"oom\", service_name=\"worker-gpu\"}"

static struct cuda_event of(uint32_t pid, int64_t second, struct cuda_event event)
{
	event.tgid = event.tid = pid;
	event.time_ns = (uint64_t)(second * NS_PER_S);
	return event;
}

/* Everything that is due, however long that would take. */
static void publish_all(struct fixture *fixture)
{
	forget_notes(fixture);
	memory_tick_publish_due(fixture->tick, INT64_MAX);
}

static int64_t total_of(const struct fixture *fixture, const char *labels, const char *type)
{
	const struct note *note = note_of(fixture, labels, type);

	if (!note)
		return -1;
	assert_int_equal(note->time_unix_ns, AT);
	assert_int_equal(note->duration_ns, 0);
	return note->totals[0];
}

static void it_tells_who_wanted_and_who_held_at_that_moment(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t load = STACK_OF(fixture->stacks, "load", "main");
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");
	struct cuda_event pinned = of(101, 9, alloc_event(0x7000, 5 * GB));

	pinned.function = CU_MEM_HOST_ALLOC;
	take(fixture, of(101, 1, alloc_event(0x1000, 3 * GB)), load);
	take(fixture, of(101, 2, alloc_event(0x2000, GB)), step);
	take(fixture, of(102, 3, alloc_event(0x1000, 2 * GB)), load);
	take(fixture, pinned, load);
	take(fixture, of(103, 4, alloc_event(0x1000, GB)), load);
	take(fixture, of(103, 5, free_event(0x1000)), 0);
	take_at(fixture, of(101, 10, failed_event(8 * GB, 2)), step, AT);
	/* what comes behind that moment is not in it */
	take(fixture, of(101, 10, free_event(0x2000)), 0);
	take(fixture, of(102, 10, alloc_event(0x2000, 7)), load);
	publish_all(fixture);
	assert_int_equal(fixture->count, 3);
	assert_int_equal(fixture->pushes, 1);
	assert_int_equal(total_of(fixture, OOM("101", "false"), "requested_space"), 8 * GB);
	assert_int_equal(note_of(fixture, OOM("101", "false"), "requested_space")->samples, 1);
	assert_int_equal(total_of(fixture, HELD("101"), "peak_space"), 4 * GB);
	assert_int_equal(note_of(fixture, HELD("101"), "peak_space")->samples, 2);
	assert_int_equal(total_of(fixture, HELD("102"), "peak_space"), 2 * GB);
	assert_int_equal(memory_tick_counts(fixture->tick).ooms.reported, 1);
	publish_all(fixture);
	assert_int_equal(fixture->count, 0);
}

static bool has_recovered(struct fixture *fixture)
{
	publish_all(fixture);
	assert_int_equal(fixture->count, 1); /* nobody held anything */
	if (total_of(fixture, OOM("101", "true"), "requested_space") > 0)
		return true;
	assert_true(total_of(fixture, OOM("101", "false"), "requested_space") > 0);
	return false;
}

static void it_recovers_by_as_much_within_a_second(void **state)
{
	static const struct {
		uint64_t bytes;
		int64_t after_ns;
		uint32_t pid;
		bool recovers;
	} cases[] = {
		{ GB, 0, 101, true },
		{ 2 * GB, NS_PER_S, 101, true },
		{ GB, NS_PER_S + 1, 101, false },
		{ GB - 1, 1000, 101, false },
		{ 2 * GB, 1000, 102, false },
	};
	struct fixture *fixture = *state;
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const int64_t second = 100 * (int64_t)(i + 1); /* each is the first of its minute */
		struct cuda_event again = of(cases[i].pid, second, alloc_event(0x1000, 0));

		again.bytes = cases[i].bytes;
		again.time_ns += (uint64_t)cases[i].after_ns;
		take_at(fixture, of(101, second, failed_event(GB, 2)), step, AT);
		take(fixture, again, step);
		take(fixture, of(cases[i].pid, second, free_event(0x1000)), 0);
		assert_int_equal(has_recovered(fixture), cases[i].recovers);
	}
}

static void nothing_else_is_a_report(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");
	struct cuda_event event = of(101, 10, failed_event(GB, 1)); /* another error */

	take_at(fixture, event, step, AT);
	event.kind = CUDA_EVENT_FREE_UNDONE; /* a free that finds no memory */
	event.function = CU_MEM_FREE_V2;
	event.result = CUDA_ERROR_OUT_OF_MEMORY;
	take_at(fixture, event, step, AT);
	take_at(fixture, of(101, 10, alloc_event(0x1000, GB)), step, AT);
	publish_all(fixture);
	assert_int_equal(fixture->count, 0);
	assert_int_equal(memory_tick_counts(fixture->tick).ooms.limited, 0);
}

static void a_process_is_reported_once_a_minute(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");
	size_t reports = 0;

	for (int64_t second = 1; second <= 180; second++) {
		take_at(fixture, of(101, second, failed_event(GB, 2)), step, AT);
		publish_all(fixture);
		reports += fixture->count;
	}
	assert_int_equal(reports, 3);
	assert_int_equal(memory_tick_counts(fixture->tick).ooms.limited, 177);
}

/* Two threads fail at once: the later call may be read first. */
static void calls_that_come_out_of_order_are_of_the_same_minute(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");
	size_t reports = 0;

	for (uint32_t pid = 1; pid <= 2 * OOM_MINUTE_MAX; pid++) {
		const int64_t second = 100 - (int64_t)pid;

		take_at(fixture, of(pid, second, failed_event(GB, 2)), step, AT);
		take_at(fixture, of(pid, second - 1, failed_event(GB, 2)), step, AT);
		publish_all(fixture);
		reports += fixture->count;
	}
	assert_int_equal(reports, OOM_MINUTE_MAX);
	assert_int_equal(memory_tick_counts(fixture->tick).ooms.limited, 3 * OOM_MINUTE_MAX);
}

static void a_storm_of_processes_costs_no_more_than_the_limits(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");
	size_t reports = 0;

	for (uint32_t pid = 1; pid <= 1000; pid++)
		take_at(fixture, of(pid, 10, failed_event(GB, 2)), step, AT);
	publish_all(fixture);
	assert_int_equal(fixture->count, OOM_PENDING_MAX);
	for (uint32_t pid = 1001; pid <= 2000; pid++) {
		take_at(fixture, of(pid, 69, failed_event(GB, 2)), step, AT);
		publish_all(fixture);
		reports += fixture->count;
	}
	assert_int_equal(reports, OOM_MINUTE_MAX - OOM_PENDING_MAX);
	take_at(fixture, of(3000, 70, failed_event(GB, 2)), step, AT); /* the next minute */
	publish_all(fixture);
	assert_int_equal(fixture->count, 1);
	assert_int_equal(memory_tick_counts(fixture->tick).ooms.limited,
	                 2000 - (uint64_t)OOM_MINUTE_MAX);
}

static void without_room_for_a_copy_the_call_is_told_alone(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");
	struct budget *budget = gpu_process_table_budget(fixture->processes);
	size_t left;

	take(fixture, of(101, 1, alloc_event(0x1000, GB)), step);
	left = budget->limit - budget_used(budget);
	assert_true(budget_take(budget, left));
	take_at(fixture, of(101, 10, failed_event(GB, 2)), step, AT);
	budget_give(budget, left);
	publish_all(fixture);
	assert_int_equal(fixture->count, 1);
	assert_int_equal(total_of(fixture, OOM("101", "false"), "requested_space"), GB);
	assert_int_equal(memory_tick_counts(fixture->tick).ooms.bare, 1);
}

static void a_report_waits_for_a_second_and_for_late_names(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");
	const struct cuda_event other = of(102, 1, alloc_event(0x1000, GB));
	int64_t begun_ns = clock_mono_ns();

	assert_true(memory_tick_due_mono_ns(fixture->tick) == INT64_MAX);
	take(fixture, other, step);
	take_at(fixture, of(101, 10, failed_event(GB, 2)), step, AT);
	assert_true(memory_tick_due_mono_ns(fixture->tick) >= begun_ns + NS_PER_S);
	begun_ns = memory_tick_due_mono_ns(fixture->tick);
	forget_notes(fixture);
	memory_tick_publish_due(fixture->tick, begun_ns - 1);
	assert_int_equal(fixture->count, 0);
	gpu_process_table_get(fixture->processes, &other)->identity.is_late = true;
	memory_tick_publish_due(fixture->tick, begun_ns);
	assert_int_equal(fixture->count, 0);
	assert_true(memory_tick_due_mono_ns(fixture->tick) > begun_ns); /* not at once again */
	gpu_process_table_get(fixture->processes, &other)->identity.is_late = false;
	memory_tick_publish_due(fixture->tick, memory_tick_due_mono_ns(fixture->tick));
	assert_int_equal(fixture->count, 2);
	assert_true(memory_tick_due_mono_ns(fixture->tick) == INT64_MAX);
}

static void its_stacks_outlive_a_tick_that_throws_others_away(void **state)
{
	struct fixture *fixture = *state;
	char name[32];

	for (uint64_t i = 0; i < 10000; i++) {
		(void)snprintf(name, sizeof(name), "f%llu", (unsigned long long)i);
		(void)STACK_OF(fixture->stacks, name, "main");
	}
	take(fixture, of(101, 1, alloc_event(0x1000, GB)),
	     STACK_OF(fixture->stacks, "load", "main"));
	take_at(fixture, of(101, 10, failed_event(GB, 2)),
	        STACK_OF(fixture->stacks, "step", "main"), AT);
	take(fixture, of(101, 11, free_event(0x1000)), 0);
	gpu_process_end(gpu_process_table_at(fixture->processes, 0), 2000);
	publish(fixture);
	assert_in_range(stack_table_count(fixture->stacks), 1, 100);
	publish_all(fixture);
	assert_int_equal(total_of(fixture, OOM("101", "false"), "requested_space"), GB);
	assert_int_equal(total_of(fixture, HELD("101"), "peak_space"), GB);
	assert_string_equal(note_of(fixture, HELD("101"), "peak_space")->caller, "load");
	assert_string_equal(note_of(fixture, OOM("101", "false"), "requested_space")->caller,
	                    "step");
}

/* The devices, asked then, say this, and those who ran then know where they are. */
static void see_picture(struct fixture *fixture, struct device_books *devices, uint64_t used_bytes,
                        uint32_t tgid_on_b, int64_t begun_mono_ns)
{
	struct device_picture *picture = mem_zalloc(1, sizeof(*picture));

	picture->begun_mono_ns = begun_mono_ns;
	picture->mono_ns = clock_mono_ns();
	picture->device_count = 2;
	picture->devices[0] = (struct device_reading){ .uuid = "GPU-a",
		                                       .has_memory = true,
		                                       .has_holders = true,
		                                       .used_bytes = used_bytes,
		                                       .total_bytes = 80 * GB };
	picture->devices[1] = picture->devices[0];
	picture->devices[1].uuid[strlen("GPU-")] = 'b';
	picture->devices[1].used_bytes = GB;
	picture->holder_count = 2;
	picture->holders[0] = (struct device_holder){ .tgid = 101, .device = 0 };
	picture->holders[1] = (struct device_holder){ .tgid = tgid_on_b, .device = 1 };
	device_books_take(devices, picture);
	device_books_settle(devices, fixture->processes);
	memory_tick_see_devices(fixture->tick);
	free(picture);
}

static void see_devices(struct fixture *fixture, struct device_books *devices, uint64_t used_bytes,
                        uint32_t tgid_on_b)
{
	see_picture(fixture, devices, used_bytes, tgid_on_b, clock_mono_ns());
}

static struct device_books *open_with_devices(struct fixture *fixture)
{
	struct device_books *devices =
		device_books_new(&(struct device_books_options){ .stale_ns = 3600 * NS_PER_S });

	open_tick(fixture, &(struct memory_tick_options){ .devices = devices });
	return devices;
}

#define OOM_ON(gpu)                                                                         \
	"{__delta__=\"false\", __name__=\"gpu_memory_oom\", cluster=\"default\", "          \
	"cuda_class=\"device\", cuda_error=\"CUDA_ERROR_OUT_OF_MEMORY\", gpu=\"" gpu "\", " \
	"hostname=\"box\", pid=\"101\", proc_comm=\"worker\", "                             \
	"recovered=\"false\", service_name=\"worker-gpu\"}"

static void a_device_that_tells_of_itself_is_part_of_it(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(device_books_freep) struct device_books *devices = open_with_devices(fixture);
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");
	const int64_t before_ns = clock_mono_ns() - 1;
	const struct note *note;

	assert_false(memory_tick_wants_devices(fixture->tick));
	take_at(fixture, of(101, 10, failed_event(2 * GB, 2)), step, AT);
	assert_true(memory_tick_wants_devices(fixture->tick));
	see_picture(fixture, devices, 2 * GB, 102, before_ns); /* it was being read at the call */
	assert_true(memory_tick_wants_devices(fixture->tick));
	see_devices(fixture, devices, 79 * GB, 102);
	assert_false(memory_tick_wants_devices(fixture->tick));
	see_devices(fixture, devices, 7 * GB, 102); /* what was, not what is */
	publish_all(fixture);
	assert_int_equal(fixture->count, 1);
	note = note_of(fixture, OOM_ON("GPU-a"), "requested_space");
	assert_non_null(note);
	assert_int_equal(note->totals[0], 2 * GB);
	assert_int_equal(note->totals[1], 79 * GB);
	assert_int_equal(note->totals[2], 80 * GB);
}

static void where_its_device_is_not_certain_none_is_told(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(device_books_freep) struct device_books *devices = open_with_devices(fixture);
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");
	const struct note *note;

	take_at(fixture, of(101, 10, failed_event(2 * GB, 2)), step, AT);
	see_devices(fixture, devices, 79 * GB, 101);
	publish_all(fixture);
	note = note_of(fixture, OOM_ON("unknown"), "requested_space");
	assert_non_null(note);
	assert_int_equal(note->totals[1], 0);
}

static void who_is_on_another_device_is_left_out(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(device_books_freep) struct device_books *devices = open_with_devices(fixture);
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");

	for (uint32_t pid = 102; pid <= 103; pid++)
		take(fixture, of(pid, 1, alloc_event(0x1000, GB)), step);
	take_at(fixture, of(101, 10, failed_event(2 * GB, 2)), step, AT);
	see_devices(fixture, devices, 79 * GB, 102);
	publish_all(fixture);
	/* 103 may be there as well */
	assert_int_equal(fixture->count, 2);
	assert_int_equal(total_of(fixture, HELD("103"), "peak_space"), GB);
}

#define HELD_ON(pid, gpu)                                                           \
	"{__delta__=\"false\", __name__=\"gpu_memory_peak\", cluster=\"default\", " \
	"gpu=\"" gpu "\", hostname=\"box\", pid=\"" pid "\", "                      \
	"proc_comm=\"worker\", reason=\"oom\", service_name=\"worker-gpu\"}"

static void exec(struct fixture *fixture, uint32_t pid, int64_t second)
{
	const struct cuda_event event = of(pid, second, alloc_event(0, 0));

	memory_tick_exec(fixture->tick, gpu_process_table_get(fixture->processes, &event),
	                 event.time_ns);
}

/* Behind a tick all was told of the program but what waits. */
static void a_program_before_an_exec_is_told_by_its_own_name(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(device_books_freep) struct device_books *devices = open_with_devices(fixture);
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");

	take(fixture, of(101, 1, alloc_event(0x1000, 3 * GB)), step);
	take(fixture, of(103, 1, alloc_event(0x1000, GB)), step);
	take_at(fixture, of(101, 10, failed_event(2 * GB, 2)), step, AT);
	see_devices(fixture, devices, 79 * GB, 102);
	publish(fixture);
	exec(fixture, 101, 11);
	exec(fixture, 103, 11);
	publish(fixture);
	gpu_process_table_forget(fixture->processes, clock_mono_ns());
	publish_all(fixture);
	assert_int_equal(fixture->count, 3);
	assert_int_equal(total_of(fixture, OOM_ON("GPU-a"), "requested_space"), 2 * GB);
	assert_int_equal(note_of(fixture, OOM_ON("GPU-a"), "requested_space")->totals[1], 79 * GB);
	assert_int_equal(total_of(fixture, HELD_ON("101", "GPU-a"), "peak_space"), 3 * GB);
	assert_int_equal(total_of(fixture, HELD("103"), "peak_space"), GB);
	assert_int_equal(memory_tick_counts(fixture->tick).ooms.gone, 0);
	/* they are gone with the report */
	publish(fixture);
	gpu_process_table_forget(fixture->processes, clock_mono_ns());
	assert_int_equal(gpu_process_table_count(fixture->processes), 2);
}

static void what_is_of_a_program_without_a_place_is_counted(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");

	for (int64_t i = 0; i < FORMER_PROGRAMS_MAX; i++) {
		take(fixture, of(102, 1, alloc_event(0x1000, GB)), step);
		exec(fixture, 102, 100 + i);
	}
	take(fixture, of(101, 1, alloc_event(0x1000, GB)), step);
	take_at(fixture, of(101, 10, failed_event(2 * GB, 2)), step, AT);
	exec(fixture, 101, 11);
	publish_all(fixture);
	assert_int_equal(fixture->count, 0); /* it has no name any more but a false one */
	assert_int_equal(memory_tick_counts(fixture->tick).ooms.gone, 2);
	assert_int_equal(memory_tick_counts(fixture->tick).ooms.reported, 0);
}

/* A process that was there before may have its first event while a report names it. */
static void who_is_recognized_meanwhile_is_who_held(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");
	const struct cuda_event first = of(102, 11, alloc_event(0x1000, 7));
	struct gpu_process *adopted = gpu_process_table_adopt(
		fixture->processes, 102, process_start_shown(first.process_start_ns));

	gpu_account_set_earlier(&adopted->account, 5 * GB);
	take_at(fixture, of(101, 10, failed_event(GB, 2)), step, AT);
	take(fixture, first, step);
	assert_false(adopted->is_adopted);
	publish_all(fixture);
	assert_int_equal(fixture->count, 2);
	assert_int_equal(fixture->notes[1].totals[0], 5 * GB);
}

static void the_last_tick_waits_for_nobody(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t step = STACK_OF(fixture->stacks, "step", "main");

	take_at(fixture, of(101, 10, failed_event(GB, 2)), step, AT);
	publish_at(fixture, (struct stack_profile_time){ AT + 1, 15 }, MEMORY_TICK_LAST);
	assert_non_null(note_of(fixture, OOM("101", "false"), "requested_space"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_tells_who_wanted_and_who_held_at_that_moment),
		TEST(it_recovers_by_as_much_within_a_second),
		TEST(nothing_else_is_a_report),
		TEST(a_process_is_reported_once_a_minute),
		TEST(calls_that_come_out_of_order_are_of_the_same_minute),
		TEST(a_storm_of_processes_costs_no_more_than_the_limits),
		TEST(without_room_for_a_copy_the_call_is_told_alone),
		TEST(a_report_waits_for_a_second_and_for_late_names),
		TEST(its_stacks_outlive_a_tick_that_throws_others_away),
		TEST(a_device_that_tells_of_itself_is_part_of_it),
		TEST(where_its_device_is_not_certain_none_is_told),
		TEST(who_is_on_another_device_is_left_out),
		TEST(a_program_before_an_exec_is_told_by_its_own_name),
		TEST(what_is_of_a_program_without_a_place_is_counted),
		TEST(who_is_recognized_meanwhile_is_who_held),
		TEST(the_last_tick_waits_for_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
