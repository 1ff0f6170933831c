/* What is published of a process that has memory on two devices. */
#include "base/clock.h"
#include "collector/live/cuda_error.h"
#include "tests/unit/collector/live/device_fixture.h"
#include "tests/unit/collector/live/publish_fixture.h"

#define AT INT64_C(1767225600123456789)

#define OF(name, gpu, more)                                                                    \
	"{__delta__=\"false\", __name__=\"" name "\", cluster=\"default\", " more "gpu=\"" gpu \
	"\", hostname=\"box\", pid=\"100\", proc_comm=\"worker\", "
#define SERVICE     "service_name=\"worker-gpu\"}"
#define VMM         "cuda_class=\"vmm\", "
#define MEMORY(gpu) OF("memory", gpu, VMM) SERVICE
#define FAILED(gpu) \
	OF("gpu_memory_failed", gpu, VMM "cuda_error=\"CUDA_ERROR_OUT_OF_MEMORY\", ") SERVICE
#define PEAK(gpu) OF("gpu_memory_peak", gpu, "") SERVICE
#define HELD(gpu) OF("gpu_memory_peak", gpu, "") "reason=\"oom\", " SERVICE
#define OOM(gpu)                                                                   \
	OF("gpu_memory_oom", gpu, VMM "cuda_error=\"CUDA_ERROR_OUT_OF_MEMORY\", ") \
	"recovered=\"false\", " SERVICE

static struct cuda_event on(uint16_t device, struct cuda_event event)
{
	event.function = event.kind == CUDA_EVENT_FREE ? CU_MEM_RELEASE : CU_MEM_CREATE;
	event.device = device;
	return event;
}

/* Three devices that are alike: numbers of a process without a container are theirs. */
static struct device_books *open_with_devices(struct fixture *fixture)
{
	CLEANUP(mem_freep)
	struct device_picture *picture = picture_of((const uint64_t[]){ 1, 2, 3 }, 3);
	struct device_books *books = empty_books();

	for (int i = 0; i < 3; i++)
		memcpy(picture->devices[i].model, "A100", 5);
	device_books_take(books, picture);
	open_tick(fixture, &(struct memory_tick_options){ .devices = books });
	return books;
}

static int64_t total(const struct fixture *fixture, const char *labels, const char *type, int which)
{
	const struct note *note = note_of(fixture, labels, type);

	return note ? note->totals[which] : -1;
}

static void each_device_is_a_series_with_its_own_sums(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(device_books_freep) struct device_books *books = open_with_devices(fixture);
	const uint32_t load = STACK_OF(fixture->stacks, "load", "main");

	take(fixture, on(1, alloc_event(0x1000, 100)), load);
	take(fixture, on(2, alloc_event(0x2000, 20)), load);
	take(fixture, on(2, alloc_event(0x3000, 7)), load);
	take(fixture, on(0, alloc_event(0x4000, 3)), load);
	take(fixture, on(0, free_event(0x3000)), 0);
	device_books_settle(books, fixture->processes);
	publish(fixture);
	assert_int_equal(total(fixture, MEMORY("GPU-0"), "alloc_space", 0), 100);
	assert_int_equal(total(fixture, MEMORY("GPU-0"), "alloc_space", 2), 100);
	assert_int_equal(total(fixture, MEMORY("GPU-1"), "alloc_space", 0), 27);
	assert_int_equal(total(fixture, MEMORY("GPU-1"), "alloc_space", 1), 2);
	assert_int_equal(total(fixture, MEMORY("GPU-1"), "alloc_space", 2), 20);
	assert_int_equal(total(fixture, MEMORY("unknown"), "alloc_space", 2), 3);
	/* one that holds nothing any more is still watched */
	take(fixture, on(0, free_event(0x2000)), 0);
	publish(fixture);
	assert_int_equal(total(fixture, MEMORY("GPU-1"), "inuse_space", 0), 0);
	assert_int_equal(total(fixture, MEMORY("GPU-0"), "alloc_space", 2), 100);
}

static void failures_and_peaks_are_where_they_were(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(device_books_freep) struct device_books *books = open_with_devices(fixture);
	const uint32_t load = STACK_OF(fixture->stacks, "load", "main");

	take(fixture, on(1, alloc_event(0x1000, 100)), load);
	take(fixture, on(2, alloc_event(0x2000, 20)), load);
	take(fixture, on(0, free_event(0x1000)), 0);
	take(fixture, on(2, alloc_event(0x5000, 50)), load); /* 70 is no peak */
	take(fixture, on(1, failed_event(1000, 2)), load);
	take(fixture, on(2, failed_event(2000, 2)), load);
	take(fixture, on(2, failed_event(2000, 2)), load);
	device_books_settle(books, fixture->processes);
	gpu_process_end(gpu_process_table_at(fixture->processes, 0), 2000);
	publish(fixture);
	assert_int_equal(total(fixture, FAILED("GPU-0"), "requested_space", 0), 1000);
	assert_int_equal(total(fixture, FAILED("GPU-1"), "requested_space", 0), 4000);
	assert_int_equal(total(fixture, FAILED("GPU-1"), "requested_space", 1), 2);
	assert_int_equal(total(fixture, FAILED("unknown"), "requested_space", 0), -1);
	/* at the one moment of the process' highest point */
	assert_int_equal(total(fixture, PEAK("GPU-0"), "peak_space", 0), 100);
	assert_int_equal(total(fixture, PEAK("GPU-1"), "peak_space", 0), 20);
	assert_int_equal(total(fixture, PEAK("unknown"), "peak_space", 0), -1);
}

static void an_oom_is_of_its_device_alone(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(device_books_freep) struct device_books *books = open_with_devices(fixture);
	const uint32_t load = STACK_OF(fixture->stacks, "load", "main");

	take(fixture, on(1, alloc_event(0x1000, 100)), load);
	take(fixture, on(2, alloc_event(0x2000, 20)), load);
	take(fixture, on(0, alloc_event(0x3000, 3)), load);
	take_at(fixture, on(2, failed_event(2000, CUDA_ERROR_OUT_OF_MEMORY)), load, AT);
	device_books_settle(books, fixture->processes);
	forget_notes(fixture);
	memory_tick_publish_due(fixture->tick, INT64_MAX);
	assert_int_equal(total(fixture, OOM("GPU-1"), "requested_space", 0), 2000);
	assert_int_equal(total(fixture, HELD("GPU-1"), "peak_space", 0), 20);
	assert_int_equal(total(fixture, HELD("unknown"), "peak_space", 0), 3); /* it may be there */
	assert_int_equal(total(fixture, HELD("GPU-0"), "peak_space", 0), -1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_device_is_a_series_with_its_own_sums),
		TEST(failures_and_peaks_are_where_they_were),
		TEST(an_oom_is_of_its_device_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
