#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tests/unit/collector/nvml/nvml_fixture.h"

#define TWO                                             \
	"device GPU-a 3 1000 500 10 NVIDIA A100-SXM4\n" \
	"device GPU-b 0 2000 700 20 NVIDIA H100 80GB\n"

static void it_says_what_devices_have_and_who_holds_it(void **state)
{
	struct nvml_fixture *fixture = *state;
	const struct device_picture *picture = &fixture->picture;
	const int64_t before = clock_mono_ns();

	nvml_fixture_read(fixture,
	                  TWO "process compute 1 7 600\nprocess compute 0 7 400\n"
	                      "process compute 1 8 50\n",
	                  NVML_PIDS_OURS);
	assert_int_equal(picture->device_count, 2);
	assert_string_equal(picture->devices[0].uuid, "GPU-a");
	assert_string_equal(picture->devices[0].model, "NVIDIA A100-SXM4");
	assert_int_equal(picture->devices[0].minor, 3);
	assert_true(picture->devices[0].has_minor && picture->devices[0].has_memory);
	assert_false(picture->devices[0].is_part);
	assert_int_equal(picture->devices[0].used_bytes, 500);
	assert_int_equal(picture->devices[0].total_bytes, 1000);
	assert_string_equal(picture->devices[1].uuid, "GPU-b");
	assert_int_equal(picture->devices[1].used_bytes, 700);
	assert_int_equal(picture->holder_count, 3);
	assert_int_equal(picture->holders[0].device, 0);
	assert_int_equal(picture->holders[0].bytes, 400);
	assert_int_equal(picture->holders[1].device, 1);
	assert_int_equal(picture->holders[1].tgid, 7);
	assert_in_range(picture->mono_ns, before, clock_mono_ns());
}

static void older_drivers_say_what_is_used_with_what_they_keep(void **state)
{
	struct nvml_fixture *fixture = *state;

	nvml_fixture_read(fixture, TWO "fail nvmlDeviceGetMemoryInfo_v2 13\n", NVML_PIDS_OURS);
	assert_int_equal(fixture->picture.devices[0].used_bytes, 510);
	assert_int_equal(fixture->picture.devices[0].total_bytes, 1000);
}

static void a_device_without_memory_of_its_own_stands_there_without(void **state)
{
	struct nvml_fixture *fixture = *state;

	nvml_fixture_read(fixture,
	                  TWO "process compute 0 7 5000\nfail nvmlDeviceGetMemoryInfo_v2 3\n"
	                      "fail nvmlDeviceGetMemoryInfo 3\n",
	                  NVML_PIDS_OURS);
	assert_int_equal(fixture->picture.device_count, 2);
	assert_false(fixture->picture.devices[0].has_memory);
	assert_int_equal(fixture->picture.holders[0].bytes, 5000);
}

static void numbers_that_cannot_be_are_not_told(void **state)
{
	struct nvml_fixture *fixture = *state;

	nvml_fixture_read(fixture, "device GPU-a 0 1000 1001 0 A\ndevice GPU-b 0 0 0 0 B\n",
	                  NVML_PIDS_OURS);
	assert_int_equal(fixture->picture.device_count, 2);
	assert_false(fixture->picture.devices[0].has_memory);
	assert_false(fixture->picture.devices[1].has_memory);
}

static void a_device_that_is_lost_leaves_the_others(void **state)
{
	struct nvml_fixture *fixture = *state;

	nvml_fixture_read(fixture, TWO "lost 0\nprocess compute 1 7 600\n", NVML_PIDS_OURS);
	assert_int_equal(fixture->picture.device_count, 1);
	assert_string_equal(fixture->picture.devices[0].uuid, "GPU-b");
	assert_int_equal(fixture->picture.holders[0].device, 0);
}

static void a_device_is_its_parts(void **state)
{
	struct nvml_fixture *fixture = *state;
	const struct device_picture *picture = &fixture->picture;

	nvml_fixture_read(fixture,
	                  TWO "part 0 MIG-x 400 100\npart 0 MIG-y 500 200\n"
	                      "process compute 0.1 7 150\nprocess compute 1 8 9\n",
	                  NVML_PIDS_OURS);
	assert_int_equal(picture->device_count, 3);
	assert_string_equal(picture->devices[0].uuid, "MIG-x");
	assert_string_equal(picture->devices[1].uuid, "MIG-y");
	assert_string_equal(picture->devices[2].uuid, "GPU-b");
	assert_true(picture->devices[0].is_part && picture->devices[1].is_part);
	assert_int_equal(picture->devices[1].minor, 3);
	assert_int_equal(picture->devices[1].total_bytes, 500);
	assert_int_equal(picture->holder_count, 2);
	assert_int_equal(picture->holders[0].device, 1);
	assert_int_equal(picture->holders[1].device, 2);
}

static void parts_that_cannot_be_asked_are_the_whole(void **state)
{
	struct nvml_fixture *fixture = *state;

	nvml_fixture_read(fixture,
	                  TWO "part 0 MIG-x 400 100\nfail nvmlDeviceGetMaxMigDeviceCount 4\n",
	                  NVML_PIDS_OURS);
	assert_int_equal(fixture->picture.device_count, 2);
	assert_string_equal(fixture->picture.devices[0].uuid, "GPU-a");
}

static void text_that_is_no_label_is_no_device(void **state)
{
	struct nvml_fixture *fixture = *state;

	nvml_fixture_read(fixture, "device GPU-\x01 0 1 0 0 A\ndevice GPU-b 0 1 0 0 \x7f\n",
	                  NVML_PIDS_OURS);
	assert_int_equal(fixture->picture.device_count, 1);
	assert_string_equal(fixture->picture.devices[0].uuid, "GPU-b");
	assert_string_equal(fixture->picture.devices[0].model, "");
}

static void devices_that_cannot_be_counted_are_an_error(void **state)
{
	struct nvml_fixture *fixture = *state;
	struct error err;

	nvml_fixture_read(fixture, "", NVML_PIDS_OURS);
	assert_int_equal(fixture->picture.device_count, 0);
	nvml_fixture_say(fixture, "fail nvmlDeviceGetCount_v2 15\n");
	assert_int_equal(nvml_reader_read(&fixture->calls, NVML_PIDS_OURS, &fixture->picture, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_string_equal(err.message, "nvmlDeviceGetCount_v2 failed with 15: the GPU is lost");
}

int main(void)
{
#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, nvml_fixture_set_up, nvml_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(it_says_what_devices_have_and_who_holds_it),
		TEST(older_drivers_say_what_is_used_with_what_they_keep),
		TEST(a_device_without_memory_of_its_own_stands_there_without),
		TEST(numbers_that_cannot_be_are_not_told),
		TEST(a_device_that_is_lost_leaves_the_others),
		TEST(a_device_is_its_parts),
		TEST(parts_that_cannot_be_asked_are_the_whole),
		TEST(text_that_is_no_label_is_no_device),
		TEST(devices_that_cannot_be_counted_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
