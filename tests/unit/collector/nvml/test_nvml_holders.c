#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/collector/nvml/nvml_fixture.h"

#define DEVICE "device GPU-a 0 1000 500 10 A100\n"

static const struct device_holder *holder_of(const struct nvml_fixture *fixture, uint32_t tgid)
{
	const struct device_picture *picture = &fixture->picture;

	for (size_t i = 0; i < picture->holder_count; i++)
		if (picture->holders[i].tgid == tgid)
			return &picture->holders[i];
	return NULL;
}

static void assert_holds(const struct nvml_fixture *fixture, uint32_t tgid, uint64_t bytes)
{
	const struct device_holder *holder = holder_of(fixture, tgid);

	assert_non_null(holder);
	assert_true(holder->has_bytes);
	assert_int_equal(holder->bytes, bytes);
}

static void entries_of_each_size_are_understood(void **state)
{
	static const char *const sizes[] = { "", "entry 16\n", "entry 32\n" };
	struct nvml_fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char said[512];

		(void)snprintf(said, sizeof(said),
		               DEVICE "%sprocess compute 0 7 100\nprocess compute 0 8 0\n"
		                      "process compute 0 4000000000 300\n",
		               sizes[i]);
		nvml_fixture_read(fixture, said, NVML_PIDS_OURS);
		assert_true(fixture->picture.devices[0].has_holders);
		assert_int_equal(fixture->picture.holder_count, 3);
		assert_holds(fixture, 7, 100);
		assert_holds(fixture, 8, 0);
		assert_holds(fixture, 4000000000, 300);
	}
}

static void who_stands_in_several_lists_counts_once(void **state)
{
	struct nvml_fixture *fixture = *state;

	nvml_fixture_read(fixture,
	                  DEVICE "process compute 0 7 100\nprocess graphics 0 7 120\n"
	                         "process graphics 0 8 5\nprocess shared 0 7 -\n"
	                         "process shared 0 9 6\n",
	                  NVML_PIDS_OURS);
	assert_int_equal(fixture->picture.holder_count, 3);
	assert_holds(fixture, 7, 120);
	assert_holds(fixture, 8, 5);
	assert_holds(fixture, 9, 6);
}

static void what_is_not_told_or_cannot_be_has_no_bytes(void **state)
{
	struct nvml_fixture *fixture = *state;

	/* more than the device has; process 0 is one of another namespace */
	nvml_fixture_read(fixture,
	                  DEVICE "process compute 0 7 -\nprocess compute 0 8 1001\n"
	                         "process compute 0 0 10\nprocess compute 0 9 1000\n",
	                  NVML_PIDS_OURS);
	assert_int_equal(fixture->picture.holder_count, 3);
	assert_false(holder_of(fixture, 7)->has_bytes);
	assert_false(holder_of(fixture, 8)->has_bytes);
	assert_holds(fixture, 9, 1000);
}

static void say_many(const struct nvml_fixture *fixture, size_t count)
{
	struct strbuf text;

	strbuf_init(&text, 1 << 20);
	strbuf_add_text(&text, DEVICE);
	for (size_t i = 0; i < count; i++)
		strbuf_printf(&text, "process compute 0 %zu %zu\n", i + 1, i % 1000);
	nvml_fixture_say(fixture, text.data);
	strbuf_fini(&text);
}

static void read_again(struct nvml_fixture *fixture)
{
	struct error err;

	assert_int_equal(nvml_library_open(STUB_NVML_LIBRARY, "", &fixture->calls, &err), 0);
	assert_int_equal(nvml_reader_read(&fixture->calls, NVML_PIDS_OURS, &fixture->picture, &err),
	                 0);
}

static void there_may_be_more_than_were_asked_for(void **state)
{
	struct nvml_fixture *fixture = *state;

	say_many(fixture, 3000);
	read_again(fixture);
	assert_true(fixture->picture.devices[0].has_holders);
	assert_int_equal(fixture->picture.holder_count, 3000);
	assert_holds(fixture, 3000, 999);
}

static void of_more_than_there_is_room_for_none_is_told(void **state)
{
	struct nvml_fixture *fixture = *state;

	say_many(fixture, PICTURE_HOLDERS_MAX + 1);
	read_again(fixture);
	assert_false(fixture->picture.devices[0].has_holders);
	assert_int_equal(fixture->picture.holder_count, 0);
	assert_true(fixture->picture.devices[0].has_memory);
}

static void a_count_that_cannot_be_is_not_believed(void **state)
{
	static const char *const said[] = {
		DEVICE "process compute 0 7 100\nclaim 4294967295\n",
		DEVICE "process compute 0 7 100\nclaim 129\n", /* of 128 asked for */
		/* three were written, and it says one: which are they? */
		DEVICE "process compute 0 7 100\nprocess compute 0 8 1\n"
		       "process compute 0 9 1\nclaim 1\n",
	};
	struct nvml_fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		nvml_fixture_read(fixture, said[i], NVML_PIDS_OURS);
		assert_false(fixture->picture.devices[0].has_holders);
		assert_int_equal(fixture->picture.holder_count, 0);
	}
}

static void without_the_list_of_computing_processes_nobody_is_told(void **state)
{
	struct nvml_fixture *fixture = *state;

	nvml_fixture_read(fixture,
	                  DEVICE "process graphics 0 7 100\n"
	                         "fail nvmlDeviceGetComputeRunningProcesses_v3 4\n",
	                  NVML_PIDS_OURS);
	assert_false(fixture->picture.devices[0].has_holders);
	assert_int_equal(fixture->picture.holder_count, 0);
	nvml_fixture_read(fixture,
	                  DEVICE "process compute 0 7 100\n"
	                         "fail nvmlDeviceGetGraphicsRunningProcesses_v3 3\n"
	                         "fail nvmlDeviceGetMPSComputeRunningProcesses_v3 3\n",
	                  NVML_PIDS_OURS);
	assert_true(fixture->picture.devices[0].has_holders);
	assert_holds(fixture, 7, 100);
}

static void pids_that_may_be_others_are_not_asked_for(void **state)
{
	struct nvml_fixture *fixture = *state;

	nvml_fixture_read(fixture, DEVICE "process compute 0 7 100\n", NVML_PIDS_UNSURE);
	assert_false(fixture->picture.devices[0].has_holders);
	assert_int_equal(fixture->picture.holder_count, 0);
}

int main(void)
{
#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, nvml_fixture_set_up, nvml_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(entries_of_each_size_are_understood),
		TEST(who_stands_in_several_lists_counts_once),
		TEST(what_is_not_told_or_cannot_be_has_no_bytes),
		TEST(there_may_be_more_than_were_asked_for),
		TEST(of_more_than_there_is_room_for_none_is_told),
		TEST(a_count_that_cannot_be_is_not_believed),
		TEST(without_the_list_of_computing_processes_nobody_is_told),
		TEST(pids_that_may_be_others_are_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
