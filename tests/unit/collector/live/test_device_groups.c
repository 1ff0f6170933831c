#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/live/device_groups.h"
#include "tests/unit/collector/live/device_fixture.h"
#include "tests/unit/collector/live/live_fixture.h"

#define DEVICE_0 1 /* as events have it */
#define DEVICE_1 2

struct fixture {
	struct gpu_process_table *processes;
	struct device_books *books;
};

static int set_up(void **state)
{
	struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	fixture->processes = gpu_process_table_new(&(struct gpu_process_table_options){
		.namer = process_namer_of_proc("/nowhere"),
		.memory_bytes = 1 << 20,
	});
	fixture->books = empty_books();
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	gpu_process_table_free(fixture->processes);
	device_books_free(fixture->books);
	free(fixture);
	return 0;
}

/* Physical memory says itself on which device it lies. */
static struct gpu_process *create(struct fixture *fixture, uint64_t handle, uint64_t bytes,
                                  uint16_t device)
{
	struct cuda_event event = alloc_event(handle, bytes);
	struct gpu_process *process;

	event.function = CU_MEM_CREATE;
	event.device = device;
	process = gpu_process_table_get(fixture->processes, &event);
	gpu_account_book(&process->account, &event, 1000);
	gpu_account_check(&process->account);
	return process;
}

static void see_devices(struct fixture *fixture, size_t count)
{
	CLEANUP(mem_freep)
	struct device_picture *picture = picture_of((const uint64_t[]){ 0, 0, 0 }, count);

	for (size_t i = 0; i < count; i++)
		memcpy(picture->devices[i].model, "A100", 5);
	device_books_take(fixture->books, picture);
	device_books_settle(fixture->books, fixture->processes);
}

static int64_t live_of(const struct gpu_process *process, const struct device_group *group)
{
	return wide_sum_value(
		device_group_books(&process->account, group, CUDA_CLASS_VMM).live_bytes);
}

static void each_device_that_is_certain_is_a_group(void **state)
{
	struct fixture *fixture = *state;
	struct device_groups groups;
	struct gpu_process *process;

	(void)create(fixture, 0x1000, 100, DEVICE_0);
	(void)create(fixture, 0x2000, 20, DEVICE_1);
	process = create(fixture, 0x3000, 3, 0);
	see_devices(fixture, 3);
	device_groups_of(process, &groups);
	assert_int_equal(groups.count, 3);
	assert_string_equal(groups.groups[0].gpu, "unknown");
	assert_string_equal(groups.groups[1].gpu, "GPU-0");
	assert_string_equal(groups.groups[2].gpu, "GPU-1");
	assert_int_equal(live_of(process, &groups.groups[0]), 3);
	assert_int_equal(live_of(process, &groups.groups[1]), 100);
	assert_int_equal(live_of(process, &groups.groups[2]), 20);
	assert_true(device_group_live(&process->account, &groups.groups[1]) == 100);
}

static void devices_that_are_not_certain_are_one_group(void **state)
{
	struct fixture *fixture = *state;
	struct device_groups groups;
	struct gpu_process *process;

	(void)create(fixture, 0x1000, 100, DEVICE_0);
	process = create(fixture, 0x2000, 20, DEVICE_1);
	device_groups_of(process, &groups);
	assert_int_equal(groups.count, 1);
	assert_string_equal(groups.groups[0].gpu, "unknown");
	assert_int_equal(live_of(process, &groups.groups[0]), 120);
	/* where there is one device, all of it is there */
	see_devices(fixture, 1);
	device_groups_of(process, &groups);
	assert_int_equal(groups.count, 1);
	assert_string_equal(groups.groups[0].gpu, "GPU-0");
	assert_int_equal(live_of(process, &groups.groups[0]), 120);
}

static void more_devices_than_there_may_be_are_not_told_apart(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_process *process = NULL;
	struct device_groups groups;

	for (uint16_t i = 1; i <= DEVICES_MAX + 10; i++)
		process = create(fixture, (uint64_t)i << 12, 7, i);
	assert_int_equal(process->account.device_count, DEVICES_MAX);
	process = create(fixture, 0xffff0000, 7, UINT16_MAX);
	device_groups_of(process, &groups);
	assert_int_equal(groups.count, 1);
	assert_int_equal(live_of(process, &groups.groups[0]), 7 * (DEVICES_MAX + 11));
}

static void without_room_for_its_books_a_device_is_not_known(void **state)
{
	struct gpu_account account;
	struct cuda_event event = alloc_event(0x1000, 5);
	struct budget budget;

	(void)state;
	budget_init(&budget, sizeof(struct device_ledger) + sizeof(struct device_ledger) / 2);
	gpu_account_init(&account, &budget);
	event.function = CU_MEM_CREATE;
	event.device = DEVICE_0;
	assert_int_equal(gpu_account_device_of(&account, &event), DEVICE_0);
	event.device = DEVICE_1;
	assert_int_equal(gpu_account_device_of(&account, &event), 0);
	gpu_account_check(&account);
	gpu_account_fini(&account);
	assert_int_equal(budget_used(&budget), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_device_that_is_certain_is_a_group, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(devices_that_are_not_certain_are_one_group, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(more_devices_than_there_may_be_are_not_told_apart,
		                                set_up, tear_down),
		cmocka_unit_test(without_room_for_its_books_a_device_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
