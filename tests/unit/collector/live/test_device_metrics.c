#include <string.h>

#include "tests/unit/collector/live/device_fixture.h"
#include "tests/unit/collector/live/metrics_fixture.h"

static int set_up(void **state)
{
	return open_metrics(state, empty_books());
}

static void allocate(const struct fixture *fixture, uint32_t tgid, enum cuda_function_id function,
                     uint64_t address, uint64_t bytes)
{
	struct cuda_event event = alloc_event(address, bytes);

	event.tgid = tgid;
	event.function = (uint16_t)function;
	gpu_account_book(&gpu_process_table_get(fixture->processes, &event)->account, &event,
	                 STACK_LOST);
}

static void say(const struct fixture *fixture, struct device_picture *picture)
{
	device_books_take(fixture->devices, picture);
	device_books_settle(fixture->devices, fixture->processes);
	free(picture);
}

static const char *format(struct fixture *fixture)
{
	static const struct collector_health health = { .is_up = true };

	return format_with(fixture, &health);
}

/* The sum of a family's lines that have a text among their labels, and how many there are. */
static int64_t sum_of(const char *text, const char *name, const char *label, size_t *out_count)
{
	const size_t length = strlen(name);
	int64_t sum = 0;

	*out_count = 0;
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		const char *end = strchr(line, '\n');
		const char *value = end;

		if (strncmp(line, name, length) != 0 ||
		    (line[length] != '{' && line[length] != ' '))
			continue;
		if (label[0] && (!strstr(line, label) || strstr(line, label) > end))
			continue;
		while (*value != ' ')
			value--;
		sum += strtoll(value, NULL, 10);
		++*out_count;
	}
	return sum;
}

static int64_t number(const char *text, const char *name, const char *label, size_t count)
{
	size_t found;
	const int64_t sum = sum_of(text, name, label, &found);

	assert_int_equal(found, count);
	return sum;
}

static void what_is_live_and_what_is_not_attributed_is_what_is_used(void **state)
{
	static const uint64_t used[] = { 900, 800 };
	struct fixture *fixture = *state;
	struct device_picture *picture = picture_of(used, 2);
	const char *text;
	int64_t live_on_gpus;

	allocate(fixture, 40, CU_MEM_ALLOC_V2, 0x1000, 300);
	allocate(fixture, 40, CU_MEM_ALLOC_ASYNC, 0x2000, 50);
	allocate(fixture, 40, CU_MEM_HOST_ALLOC, 0x3000, 5000); /* none of a device's */
	allocate(fixture, 41, CU_MEM_ALLOC_V2, 0x1000, 10);
	picture_add(picture, 0, 40, 480);
	picture_add(picture, 0, 41, 60);
	picture_add(picture, 1, 41, 70);
	picture_add(picture, 1, 99, 500); /* never seen to call */
	say(fixture, picture);
	text = format(fixture);
	assert_int_equal(number(text, "gpu_memory_device_used_bytes", "gpu=\"GPU-0\"", 1), 900);
	assert_int_equal(number(text, "gpu_memory_device_total_bytes", "", 2), 2000);
	assert_int_equal(number(text, "gpu_memory_nvml_used_bytes", "pid=\"40\"", 1), 480);
	assert_int_equal(number(text, "gpu_memory_nvml_used_bytes", "pid=\"41\"", 2), 60 + 70);
	assert_int_equal(number(text, "gpu_memory_nvml_used_bytes", "pid=\"99\",comm=\"\"", 1),
	                 500);
	assert_int_equal(number(text, "gpu_memory_unattributed_bytes", "pid=\"40\"", 1),
	                 480 - 300 - 50);
	assert_int_equal(number(text, "gpu_memory_unattributed_bytes", "pid=\"41\"", 1), 130 - 10);
	/* the whole picture: of the processes that we know, and of what no process holds */
	live_on_gpus = number(text, "gpu_memory_inuse_bytes", "", 4) - 5000;
	assert_int_equal(live_on_gpus + number(text, "gpu_memory_unattributed_bytes", "", 2) + 500,
	                 number(text, "gpu_memory_nvml_used_bytes", "", 4));
	assert_int_equal(number(text, "gpu_memory_inuse_bytes", "gpu=\"GPU-0\"", 3), 5350);
	assert_int_equal(number(text, "gpu_memory_inuse_bytes", "gpu=\"unknown\"", 1), 10);
	assert_int_equal(number(text, "cuda_collector_nvml_up", "", 1), 1);
	assert_int_equal(number(text, "cuda_collector_nvml_age_seconds", "", 1), 0);
}

static void managed_memory_on_the_host_makes_it_negative(void **state)
{
	static const uint64_t used[] = { 900 };
	struct fixture *fixture = *state;
	struct device_picture *picture = picture_of(used, 1);

	allocate(fixture, 40, CU_MEM_ALLOC_MANAGED, 0x1000, 300);
	picture_add(picture, 0, 40, 100);
	say(fixture, picture);
	assert_int_equal(number(format(fixture), "gpu_memory_unattributed_bytes", "", 1), -200);
}

/* Of physical memory the call says itself on which device it is: 1 + its number. */
static void create(const struct fixture *fixture, uint64_t handle, uint64_t bytes, uint16_t device)
{
	struct cuda_event event = alloc_event(handle, bytes);

	event.tgid = 40;
	event.function = CU_MEM_CREATE;
	event.device = device;
	gpu_account_book(&gpu_process_table_get(fixture->processes, &event)->account, &event,
	                 STACK_LOST);
}

static void of_each_device_it_adds_up_where_all_is_certain(void **state)
{
	static const uint64_t used[] = { 900, 700 };
	struct fixture *fixture = *state;
	struct device_picture *picture = picture_of(used, 2);
	const char *text;

	memcpy(picture->devices[0].model, "A100", 5);
	memcpy(picture->devices[1].model, "A100", 5);
	create(fixture, 0x1000, 300, 1);
	create(fixture, 0x2000, 20, 2);
	picture_add(picture, 0, 40, 480);
	picture_add(picture, 1, 40, 70);
	device_books_take(fixture->devices, picture);
	device_books_settle(fixture->devices, fixture->processes);
	text = format(fixture);
	assert_int_equal(number(text, "gpu_memory_inuse_bytes", "gpu=\"GPU-0\"", 1), 300);
	assert_int_equal(number(text, "gpu_memory_inuse_bytes", "gpu=\"GPU-1\"", 1), 20);
	assert_int_equal(number(text, "gpu_memory_unattributed_bytes", "gpu=\"GPU-0\"", 1), 180);
	assert_int_equal(number(text, "gpu_memory_unattributed_bytes", "gpu=\"GPU-1\"", 1), 50);
	/* a block of which it is not known: of all devices together */
	create(fixture, 0x3000, 5, 0);
	text = format(fixture);
	assert_int_equal(number(text, "gpu_memory_inuse_bytes", "gpu=\"unknown\"", 1), 5);
	assert_int_equal(number(text, "gpu_memory_unattributed_bytes", "gpu=\"unknown\"", 1),
	                 480 + 70 - 325);
	assert_int_equal(number(text, "gpu_memory_unattributed_bytes", "", 1), 225);
	free(picture);
}

static void without_a_picture_there_are_no_numbers(void **state)
{
	static const uint64_t used[] = { 900 };
	struct fixture *fixture = *state;
	struct device_picture *picture = picture_of(used, 1);
	const char *text;

	allocate(fixture, 40, CU_MEM_ALLOC_V2, 0x1000, 300);
	text = format(fixture);
	assert_int_equal(number(text, "cuda_collector_nvml_up", "", 1), 0);
	assert_int_equal(number(text, "cuda_collector_nvml_age_seconds", "", 0), 0);
	picture_add(picture, 0, 40, 480);
	picture->mono_ns -= STALE_NS + NS_PER_S;
	say(fixture, picture);
	text = format(fixture);
	assert_int_equal(number(text, "cuda_collector_nvml_up", "", 1), 0);
	assert_int_equal(number(text, "cuda_collector_nvml_age_seconds", "", 1),
	                 STALE_NS / NS_PER_S + 1);
	assert_int_equal(number(text, "gpu_memory_nvml_used_bytes", "", 0), 0);
	assert_int_equal(number(text, "gpu_memory_device_used_bytes", "", 0), 0);
	assert_int_equal(number(text, "gpu_memory_unattributed_bytes", "", 0), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_is_live_and_what_is_not_attributed_is_what_is_used),
		TEST(managed_memory_on_the_host_makes_it_negative),
		TEST(of_each_device_it_adds_up_where_all_is_certain),
		TEST(without_a_picture_there_are_no_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
