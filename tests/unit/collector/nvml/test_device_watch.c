#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collector/nvml/device_watch.h"
#include "tests/unit/collector/nvml/nvml_fixture.h"

#define DEVICE  "device GPU-a 0 1000 500 10 A100\n"
#define WAIT_MS 20000 /* longer than anything takes */

static struct device_watch *open_watch(void)
{
	return device_watch_open(&(struct device_watch_options){
		.path = STUB_NVML_LIBRARY, .host_root = "", .hang_ns = 1, .close_ns = NS_PER_MS });
}

static void wait_until_told(const struct device_watch *watch)
{
	struct pollfd told = { .fd = device_watch_descriptor(watch), .events = POLLIN };

	assert_int_equal(poll(&told, 1, WAIT_MS), 1);
}

static void take(struct device_watch *watch, struct nvml_fixture *fixture)
{
	wait_until_told(watch);
	assert_true(device_watch_take(watch, &fixture->picture));
}

/* Asks until it is ready to answer. */
static void ask(struct device_watch *watch)
{
	while (!device_watch_ask(watch))
		(void)poll(NULL, 0, 1);
}

static void the_first_picture_comes_unasked_and_others_when_asked_for(void **state)
{
	struct nvml_fixture *fixture = *state;
	struct device_watch *watch;

	nvml_fixture_say(fixture, DEVICE);
	watch = open_watch();
	take(watch, fixture);
	assert_int_equal(fixture->picture.devices[0].used_bytes, 500);
	assert_false(device_watch_take(watch, &fixture->picture));
	for (uint64_t used = 1; used <= 9; used++) {
		char said[] = "device GPU-a 0 1000 0 10 A100\n";

		said[strlen("device GPU-a 0 1000 ")] = (char)('0' + used);
		nvml_fixture_say(fixture, said);
		ask(watch);
		do /* a question while it read another one has an answer of its own */
			take(watch, fixture);
		while (fixture->picture.devices[0].used_bytes != used);
	}
	device_watch_close(watch);
}

static void without_a_library_nothing_comes(void **state)
{
	struct device_watch *watch = device_watch_open(
		&(struct device_watch_options){ .path = "/nowhere/libnvidia-ml", .host_root = "" });
	struct nvml_fixture *fixture = *state;
	struct error err;

	wait_until_told(watch);
	assert_int_equal(device_watch_trouble(watch, &err), DEVICE_TROUBLE_ABSENT);
	assert_non_null(strstr(err.message, "/nowhere/libnvidia-ml"));
	assert_int_equal(device_watch_trouble(watch, &err), DEVICE_TROUBLE_NONE);
	assert_false(device_watch_take(watch, &fixture->picture));
	assert_false(device_watch_ask(watch));
	device_watch_close(watch);
}

static void after_an_init_that_failed_nothing_is_called(void **state)
{
	struct nvml_fixture *fixture = *state;
	struct device_watch *watch;
	struct error err;

	/* whatever is called beyond init would hang, and the close could not wait for it */
	nvml_fixture_say(fixture, DEVICE "fail nvmlInit_v2 9\nhang nvmlDeviceGetCount_v2\n");
	watch = open_watch();
	wait_until_told(watch);
	assert_int_equal(device_watch_trouble(watch, &err), DEVICE_TROUBLE_BROKEN);
	assert_string_equal(err.message, "nvmlInit_v2 failed with 9: the driver is not loaded");
	assert_false(device_watch_ask(watch));
	assert_false(device_watch_take(watch, &fixture->picture));
	assert_int_equal(device_watch_trouble(watch, &err), DEVICE_TROUBLE_NONE);
	device_watch_close(watch);
}

static void a_reading_that_fails_is_told_and_the_next_may_do_better(void **state)
{
	struct nvml_fixture *fixture = *state;
	struct device_watch *watch;
	struct error err;

	nvml_fixture_say(fixture, "fail nvmlDeviceGetCount_v2 15\n");
	watch = open_watch();
	wait_until_told(watch);
	assert_false(device_watch_take(watch, &fixture->picture));
	assert_int_equal(device_watch_trouble(watch, &err), DEVICE_TROUBLE_FAILED);
	nvml_fixture_say(fixture, DEVICE);
	ask(watch);
	take(watch, fixture);
	assert_int_equal(fixture->picture.device_count, 1);
	device_watch_close(watch);
}

static void a_hang_holds_up_nobody_and_is_told_once(void **state)
{
	struct nvml_fixture *fixture = *state;
	struct device_watch *watch;
	struct error err;

	nvml_fixture_say(fixture, DEVICE "hang nvmlDeviceGetUUID\n");
	watch = open_watch();
	while (device_watch_trouble(watch, &err) != DEVICE_TROUBLE_HANGS)
		(void)poll(NULL, 0, 1);
	assert_string_equal(err.message, "NVML has not answered for 0 s");
	assert_int_equal(device_watch_trouble(watch, &err), DEVICE_TROUBLE_NONE);
	assert_false(device_watch_ask(watch));
	assert_false(device_watch_take(watch, &fixture->picture));
	nvml_fixture_say(fixture, DEVICE);
	take(watch, fixture);
	assert_int_equal(fixture->picture.device_count, 1);
	device_watch_close(watch);
}

/* The last one: what was left behind goes on when it is let go. */
static void what_hangs_is_left_behind(void **state)
{
	struct nvml_fixture *fixture = *state;
	struct device_watch *watch;
	struct error err;

	nvml_fixture_say(fixture, DEVICE "hang nvmlDeviceGetMemoryInfo_v2\n");
	watch = open_watch();
	while (device_watch_trouble(watch, &err) != DEVICE_TROUBLE_HANGS)
		(void)poll(NULL, 0, 1);
	device_watch_close(watch); /* it returns */
}

int main(void)
{
#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, nvml_fixture_set_up, nvml_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_first_picture_comes_unasked_and_others_when_asked_for),
		TEST(without_a_library_nothing_comes),
		TEST(after_an_init_that_failed_nothing_is_called),
		TEST(a_reading_that_fails_is_told_and_the_next_may_do_better),
		TEST(a_hang_holds_up_nobody_and_is_told_once),
		TEST(what_hangs_is_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
