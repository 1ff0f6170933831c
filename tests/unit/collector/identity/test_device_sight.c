#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/identity/device_sight.h"

static void the_environment_says_which_devices_there_are(void **state)
{
	static const struct {
		struct str environment;
		enum device_sight_visible visibility;
		const char *visible;
	} cases[] = {
		{ STR(""), DEVICES_ALL, "" },
		{ STR("A=b\0CUDA_VISIBLE=0\0XCUDA_VISIBLE_DEVICES=0\0"), DEVICES_ALL, "" },
		{ STR("CUDA_VISIBLE_DEVICES=3\0A=b\0"), DEVICES_ONE, "3" },
		{ STR("A=b\0CUDA_VISIBLE_DEVICES=GPU-8932f937\0"), DEVICES_ONE, "GPU-8932f937" },
		{ STR("CUDA_VISIBLE_DEVICES= 3 \0"), DEVICES_ONE, "3" },
		{ STR("CUDA_VISIBLE_DEVICES=-1\0"), DEVICES_ONE, "-1" },
		{ STR("CUDA_VISIBLE_DEVICES=\0"), DEVICES_OTHER, "" },
		{ STR("CUDA_VISIBLE_DEVICES=0,1\0"), DEVICES_SEVERAL, "0,1" },
		{ STR("CUDA_VISIBLE_DEVICES=0,\0"), DEVICES_SEVERAL, "0," },
		/* the first one counts, as getenv() has it */
		{ STR("CUDA_VISIBLE_DEVICES=1\0CUDA_VISIBLE_DEVICES=2\0"), DEVICES_ONE, "1" },
		{ STR("CUDA_VISIBLE_DEVICES=0123456789012345678901234567890123456789012345678901"
		      "23456789012345678901234567890123456789012345\0"),
		  DEVICES_OTHER, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct device_sight sight = { 0 };

		device_sight_environment(cases[i].environment, &sight);
		assert_int_equal(sight.visibility, cases[i].visibility);
		assert_string_equal(sight.visible, cases[i].visible);
	}
}

static void the_order_of_numbers_is_that_of_buses_only_if_it_says_so(void **state)
{
	struct device_sight sight = { 0 };

	(void)state;
	device_sight_environment(STR("CUDA_DEVICE_ORDER=FASTEST_FIRST\0"), &sight);
	assert_false(sight.has_bus_order);
	device_sight_environment(STR("CUDA_DEVICE_ORDER=PCI_BUS_ID\0"), &sight);
	assert_true(sight.has_bus_order);
}

/* A process whose open files are links to these. */
static struct device_sight look(const char *const *targets, size_t count)
{
	struct device_sight sight = { 0 };
	char proc[] = "/tmp/device-sight.XXXXXX";
	char path[128];

	assert_non_null(mkdtemp(proc));
	(void)snprintf(path, sizeof(path), "%s/42", proc);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/42/fd", proc);
	assert_int_equal(mkdir(path, 0700), 0);
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "%s/42/fd/%zu", proc, i);
		assert_int_equal(symlink(targets[i], path), 0);
	}
	device_sight_files(proc, 42, &sight);
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "%s/42/fd/%zu", proc, i);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/42/fd", proc);
	(void)rmdir(path);
	(void)snprintf(path, sizeof(path), "%s/42", proc);
	(void)rmdir(path);
	(void)rmdir(proc);
	return sight;
}

#define LOOK(...)                                  \
	look((const char *const[]){ __VA_ARGS__ }, \
	     ARRAY_LENGTH(((const char *const[]){ __VA_ARGS__ })))

static void open_files_say_which_device_it_uses(void **state)
{
	struct device_sight sight = LOOK("/dev/null", "socket:[1]", "/dev/nvidiactl",
	                                 "/dev/nvidia-uvm", "/dev/nvidia5", "/dev/nvidia5");

	(void)state;
	assert_int_equal(sight.opened, DEVICE_FILES_ONE);
	assert_int_equal(sight.open_minor, 5);
	assert_int_equal(LOOK("/dev/nvidia5", "/dev/nvidia0", "/dev/nvidia5").opened,
	                 DEVICE_FILES_SEVERAL);
}

static void what_is_no_device_says_nothing(void **state)
{
	struct device_sight sight = { .opened = DEVICE_FILES_ONE };

	(void)state;
	assert_int_equal(LOOK("/dev/nvidia", "/dev/nvidiactl", "/tmp/dev/nvidia0", "/dev/nvidia0x",
	                      "/dev/nvidia-modeset", "/dev/nvidia4294967296", "/dev/nvidia-1")
	                         .opened,
	                 DEVICE_FILES_NONE);
	device_sight_files("/nowhere", 42, &sight);
	assert_int_equal(sight.opened, DEVICE_FILES_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_environment_says_which_devices_there_are),
		cmocka_unit_test(the_order_of_numbers_is_that_of_buses_only_if_it_says_so),
		cmocka_unit_test(open_files_say_which_device_it_uses),
		cmocka_unit_test(what_is_no_device_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
