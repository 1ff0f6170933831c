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
#include "base/str.h"
#include "collector/live/gpu_device.h"

/* As the driver writes it. */
#define INFORMATION(model, uuid, bus, minor)                                             \
	"Model: \t\t " model "\nIRQ:   \t\t 44\nGPU UUID: \t " uuid                      \
	"\nVideo BIOS: \t 92.00.45.00.03\nBus Type: \t PCIe\nDMA Size: \t 47 bits\n"     \
	"DMA Mask: \t 0x7fffffffffff\nBus Location: \t " bus "\nDevice Minor: \t " minor \
	"\nGPU Firmware: \t 535.54.03\nGPU Excluded:\t No\n"

struct gpu {
	const char *bus;
	const char *information; /* NULL: it has no such file */
};

static void make_folders(const char *proc, const char *const *names, size_t count)
{
	char path[256];

	for (size_t i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", proc, names[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
}

/* What a driver with these lists; `out` has room. */
static size_t list(const struct gpu *gpus, size_t count, struct device_reading *out)
{
	static const char *const folders[] = { "driver", "driver/nvidia", "driver/nvidia/gpus" };
	char proc[] = "/tmp/gpu-device.XXXXXX";
	char path[256];
	size_t found;

	assert_non_null(mkdtemp(proc));
	make_folders(proc, folders, ARRAY_LENGTH(folders));
	for (size_t i = 0; i < count; i++) {
		FILE *file;

		(void)snprintf(path, sizeof(path), "%s/driver/nvidia/gpus/%s", proc, gpus[i].bus);
		assert_int_equal(mkdir(path, 0700), 0);
		if (!gpus[i].information)
			continue;
		(void)snprintf(path, sizeof(path), "%s/driver/nvidia/gpus/%s/information", proc,
		               gpus[i].bus);
		file = fopen(path, "we");
		assert_non_null(file);
		assert_true(fputs(gpus[i].information, file) >= 0);
		assert_int_equal(fclose(file), 0);
	}
	found = gpu_device_list(proc, out);
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "%s/driver/nvidia/gpus/%s/information", proc,
		               gpus[i].bus);
		(void)unlink(path);
		(void)snprintf(path, sizeof(path), "%s/driver/nvidia/gpus/%s", proc, gpus[i].bus);
		(void)rmdir(path);
	}
	for (size_t i = ARRAY_LENGTH(folders); i-- > 0;) {
		(void)snprintf(path, sizeof(path), "%s/%s", proc, folders[i]);
		(void)rmdir(path);
	}
	(void)rmdir(proc);
	return found;
}

static void they_stand_in_the_order_of_their_buses(void **state)
{
	static const struct gpu gpus[] = {
		{ "0000:8a:00.0",
		  INFORMATION("NVIDIA A100-SXM4-40GB", "GPU-b", "0000:8a:00.0", "0") },
		{ "0000:07:00.0",
		  INFORMATION("NVIDIA A100-SXM4-40GB", "GPU-a", "0000:07:00.0", "3") },
	};
	struct device_reading devices[PICTURE_DEVICES_MAX];

	(void)state;
	assert_int_equal(list(gpus, ARRAY_LENGTH(gpus), devices), 2);
	assert_string_equal(devices[0].uuid, "GPU-a");
	assert_string_equal(devices[0].model, "NVIDIA A100-SXM4-40GB");
	assert_true(devices[0].has_minor);
	assert_int_equal(devices[0].minor, 3);
	assert_false(devices[0].has_memory || devices[0].has_holders || devices[0].is_part);
	assert_string_equal(devices[1].uuid, "GPU-b");
	assert_int_equal(devices[1].minor, 0);
}

static void what_does_not_say_its_uuid_is_not_there(void **state)
{
	static const struct gpu gpus[] = {
		{ "0000:01:00.0", INFORMATION("A", "GPU-?", "0000:01:00.0", "0") },
		{ "0000:02:00.0", NULL },
		{ "0000:03:00.0", "" },
		{ "0000:04:00.0", "GPU UUID: \nModel:" },
		{ "0000:05:00.0", "GPU UUID: GPU-x\nDevice Minor: many\n" },
	};
	struct device_reading devices[PICTURE_DEVICES_MAX];

	(void)state;
	assert_int_equal(list(gpus, ARRAY_LENGTH(gpus), devices), 1);
	assert_string_equal(devices[0].uuid, "GPU-x");
	assert_false(devices[0].has_minor);
}

static void without_a_driver_there_are_none(void **state)
{
	struct device_reading devices[PICTURE_DEVICES_MAX];

	(void)state;
	assert_int_equal(gpu_device_list("/nowhere", devices), 0);
	assert_int_equal(list(NULL, 0, devices), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_stand_in_the_order_of_their_buses),
		cmocka_unit_test(what_does_not_say_its_uuid_is_not_there),
		cmocka_unit_test(without_a_driver_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
