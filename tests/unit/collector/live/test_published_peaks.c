#include "tests/unit/collector/live/publish_fixture.h"

#define PEAK                                                                        \
	"{__delta__=\"false\", __name__=\"gpu_memory_peak\", cluster=\"default\", " \
	"gpu=\"unknown\", hostname=\"box\", pid=\"100\", proc_comm=\"worker\", "    \
	"service_name=\"worker-gpu\"}"
#define MALLOC_OF(service)                                                      \
	"{__delta__=\"false\", __name__=\"process_cpu\", cluster=\"default\", " \
	"hostname=\"box\", proc_comm=\"worker\", service_name=\"" service "\"}"

/* A tick each 15000 ns; a window is 40000. */
static const struct note *peak_at(struct fixture *fixture, int64_t unix_ns)
{
	publish_at(fixture, (struct stack_profile_time){ unix_ns, 15000 }, MEMORY_TICK_USUAL);
	return note_of(fixture, PEAK, "peak_space");
}

static void a_window_has_the_stacks_of_its_highest_point_and_its_time(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t grow = STACK_OF(fixture->stacks, "grow", "main");
	const uint32_t fill = STACK_OF(fixture->stacks, "fill", "main");
	struct cuda_event pinned = alloc_event(0x9000, 1 << 20);
	const struct note *note;

	pinned.function = CU_MEM_HOST_ALLOC;
	take_at(fixture, pinned, grow, 1000);
	take_at(fixture, alloc_event(0x1000, 100), grow, 1001);
	take_at(fixture, alloc_event(0x2000, 30), fill, 1002);
	take_at(fixture, free_event(0x1000), 0, 1003);
	assert_null(peak_at(fixture, 15000));
	assert_null(peak_at(fixture, 30000));
	take_at(fixture, alloc_event(0x3000, 99), grow, 31000); /* one byte less */
	note = peak_at(fixture, 45000);
	assert_non_null(note);
	assert_int_equal(note->samples, 2);
	assert_int_equal(note->totals[0], 130);
	assert_int_equal(note->time_unix_ns, 1002);
	assert_int_equal(note->duration_ns, 0);

	/* another window begins with what is live: lower than before, and told once */
	assert_null(peak_at(fixture, 60000));
	assert_null(peak_at(fixture, 75000));
	note = peak_at(fixture, 90000);
	assert_non_null(note);
	assert_int_equal(note->totals[0], 129);
	assert_int_equal(note->time_unix_ns, 45000);
	for (int64_t at = 105000; at < 500000; at += 15000)
		assert_null(peak_at(fixture, at));
}

static void an_end_tells_what_was_not_told_yet(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t grow = STACK_OF(fixture->stacks, "grow", "main");
	const struct note *note;

	take_at(fixture, alloc_event(0x1000, 100), grow, 1001);
	gpu_process_end(gpu_process_table_at(fixture->processes, 0), 2000);
	note = peak_at(fixture, 15000);
	assert_non_null(note);
	assert_int_equal(note->totals[0], 100);
	assert_int_equal(note->time_unix_ns, 1001);
	for (int64_t at = 30000; at < 200000; at += 15000)
		assert_null(peak_at(fixture, at));
}

static void the_last_tick_tells_peaks_as_they_are(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t grow = STACK_OF(fixture->stacks, "grow", "main");

	take_at(fixture, alloc_event(0x1000, 100), grow, 1001);
	publish_at(fixture, (struct stack_profile_time){ 2000, 15 }, MEMORY_TICK_LAST);
	assert_non_null(note_of(fixture, PEAK, "peak_space"));
	assert_int_equal(note_of(fixture, PEAK, "peak_space")->totals[0], 100);
}

/* Stacks that only a peak still refers to move with the others. */
static void a_peak_keeps_its_stacks_while_others_are_thrown_away(void **state)
{
	struct fixture *fixture = *state;
	const struct note *note;
	char name[32];

	for (uint64_t i = 0; i < 10000; i++) { /* to be thrown away */
		(void)snprintf(name, sizeof(name), "f%llu", (unsigned long long)i);
		take(fixture, alloc_event((i + 1) << 12, 1),
		     STACK_OF(fixture->stacks, name, "main"));
		take(fixture, free_event((i + 1) << 12), 0);
	}
	for (uint64_t i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof(name), "g%llu", (unsigned long long)i);
		take_at(fixture, alloc_event((i + 1) << 12, i + 1),
		        STACK_OF(fixture->stacks, name, "main"), (int64_t)i);
	}
	for (uint64_t i = 0; i < 100; i++)
		take(fixture, free_event((i + 1) << 12), 0);
	assert_null(peak_at(fixture, 15000));
	assert_in_range(stack_table_count(fixture->stacks), 100, 400);
	note = peak_at(fixture, 45000);
	assert_non_null(note);
	assert_int_equal(note->samples, 100);
	assert_int_equal(note->totals[0], 100 * 101 / 2);
	assert_int_equal(note->time_unix_ns, 99);
	gpu_account_check(&gpu_process_table_at(fixture->processes, 0)->account);
}

/* ---- the series that other collectors have ---- */

/* One call of each of these functions, of 1, 10, 100 and 1000 bytes. */
static void call_all(struct fixture *fixture)
{
	static const enum cuda_function_id functions[] = { CU_MEM_ALLOC_V2, CU_MEM_ALLOC_MANAGED,
		                                           CU_MEM_HOST_ALLOC, CU_MEM_ALLOC_ASYNC };
	const struct frame_list nobody = { 0 };
	uint64_t bytes = 1;

	for (size_t i = 0; i < ARRAY_LENGTH(functions); i++, bytes *= 10) {
		struct cuda_event event = alloc_event((i + 1) << 12, bytes);

		event.function = (uint16_t)functions[i];
		take(fixture, event, stack_table_add(fixture->stacks, functions[i], &nobody, NULL));
	}
}

static int64_t malloc_of(struct fixture *fixture, const struct memory_tick_options *options,
                         const char *labels)
{
	const struct note *note;

	open_tick(fixture, options);
	call_all(fixture);
	publish(fixture);
	note = note_of(fixture, labels, "malloc");
	return note ? note->totals[0] : -1;
}

static void the_foreign_series_has_what_is_asked_for(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(
		malloc_of(fixture,
	                  &(struct memory_tick_options){ .malloc_series = MALLOC_SERIES_ALL },
	                  MALLOC_OF("worker")),
		1111);
	assert_int_equal(
		malloc_of(fixture,
	                  &(struct memory_tick_options){ .malloc_series = MALLOC_SERIES_STRICT },
	                  MALLOC_OF("worker")),
		11);
	assert_int_equal(
		malloc_of(fixture,
	                  &(struct memory_tick_options){ .malloc_series = MALLOC_SERIES_OFF },
	                  MALLOC_OF("worker")),
		-1);
	assert_int_equal(malloc_of(fixture,
	                           &(struct memory_tick_options){ .malloc_service_name =
	                                                                  "inspektor-gadget" },
	                           MALLOC_OF("inspektor-gadget")),
	                 1111);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Two processes of one service with the same highest point at the same time. */
static void processes_that_share_a_series_keep_their_own_peaks(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t grow = STACK_OF(fixture->stacks, "grow", "main");
	int64_t times[2] = { 0 };
	size_t count = 0;

	memory_tick_free(fixture->tick);
	fixture->tick = memory_tick_new(
		&(struct memory_tick_options){
			.series = { .service_suffix = "-gpu",
	                            .hostname = "box",
	                            .cluster = "default",
	                            .sink = { note_push, fixture } },
			.peak_window_ns = WINDOW_NS,
		},
		fixture->processes, fixture->stacks);
	for (uint32_t pid = 100; pid < 102; pid++) {
		struct cuda_event event = alloc_event(0x1000, 100);

		event.tgid = pid;
		take_at(fixture, event, grow, 1001);
	}
	publish_at(fixture, (struct stack_profile_time){ 45000, 15000 }, MEMORY_TICK_USUAL);
	for (size_t i = 0; i < fixture->count; i++) {
		if (strcmp(fixture->notes[i].type, "peak_space") != 0)
			continue;
		assert_true(count < 2);
		assert_null(strstr(fixture->notes[i].labels, "pid="));
		assert_int_equal(fixture->notes[i].totals[0], 100);
		times[count++] = fixture->notes[i].time_unix_ns;
	}
	assert_int_equal(count, 2);
	assert_int_equal(times[0], 1001);
	assert_int_equal(times[1], 1002);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_window_has_the_stacks_of_its_highest_point_and_its_time),
		TEST(an_end_tells_what_was_not_told_yet),
		TEST(the_last_tick_tells_peaks_as_they_are),
		TEST(a_peak_keeps_its_stacks_while_others_are_thrown_away),
		TEST(the_foreign_series_has_what_is_asked_for),
		TEST(processes_that_share_a_series_keep_their_own_peaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
