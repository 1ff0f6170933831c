#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/collector/nvml/nvml_fixture.h"

static void all_functions_are_found(void **state)
{
	struct nvml_fixture *fixture = *state;
	struct error err;

	assert_int_equal(nvml_library_open(STUB_NVML_LIBRARY, "", &fixture->calls, &err), 0);
	assert_non_null(fixture->calls.memory_v2);
	for (int i = 0; i < NVML_LIST_COUNT; i++)
		assert_non_null(fixture->calls.lists[i]);
}

static void a_library_that_is_nowhere_is_not_found(void **state)
{
	struct nvml_fixture *fixture = *state;
	struct error err;

	assert_int_equal(nvml_library_open("/nowhere/libnvidia-ml.so.1", "", &fixture->calls, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_non_null(strstr(err.message, "/nowhere/libnvidia-ml.so.1"));
}

static void one_without_its_functions_is_not_called(void **state)
{
	struct nvml_fixture *fixture = *state;
	struct error err;

	assert_int_equal(nvml_library_open("libm.so.6", "", &fixture->calls, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_string_equal(err.message, "libnvidia-ml.so.1 has no nvmlInit_v2");
}

static void an_init_that_fails_says_why(void **state)
{
	static const struct {
		const char *said;
		const char *message;
	} cases[] = {
		{ "fail nvmlInit_v2 9\n", "nvmlInit_v2 failed with 9: the driver is not loaded" },
		{ "fail nvmlInit_v2 18\n", "nvmlInit_v2 failed with 18: the library is of another "
		                           "version than the driver in the kernel" },
		{ "fail nvmlInit_v2 999\n", "nvmlInit_v2 failed with 999" },
	};
	struct nvml_fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err;

		nvml_fixture_say(fixture, cases[i].said);
		assert_int_equal(nvml_library_open(STUB_NVML_LIBRARY, "", &fixture->calls, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_UNAVAILABLE);
		assert_string_equal(err.message, cases[i].message);
	}
}

/* Of this machine's own there is none, else this says nothing. */
static void it_is_found_below_the_root_of_the_machine(void **state)
{
	struct nvml_fixture *fixture = *state;
	char root[] = "/tmp/vramscope-root-XXXXXX";
	char path[128];
	struct error err;
	int status;

	assert_non_null(mkdtemp(root));
	(void)snprintf(path, sizeof(path), "%s/usr", root);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/usr/lib64", root);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/usr/lib64/libnvidia-ml.so.1", root);
	assert_int_equal(symlink(STUB_NVML_LIBRARY, path), 0);
	status = nvml_library_open("", root, &fixture->calls, &err);
	(void)unlink(path);
	*strrchr(path, '/') = '\0';
	(void)rmdir(path);
	*strrchr(path, '/') = '\0';
	(void)rmdir(path);
	(void)rmdir(root);
	assert_int_equal(status, 0);
	assert_non_null(fixture->calls.device_count);
}

int main(void)
{
#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, nvml_fixture_set_up, nvml_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(all_functions_are_found),
		TEST(a_library_that_is_nowhere_is_not_found),
		TEST(one_without_its_functions_is_not_called),
		TEST(an_init_that_fails_says_why),
		TEST(it_is_found_below_the_root_of_the_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
