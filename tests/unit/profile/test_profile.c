#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "profile/profile.h"

static void basename_is_what_follows_the_last_slash(void **state)
{
	(void)state;
	assert_true(str_equals(profile_basename(STR("/usr/lib/libc.so.6")), "libc.so.6"));
	assert_true(str_equals(profile_basename(STR("python3")), "python3"));
	assert_true(str_equals(profile_basename(STR("/usr/lib/")), ""));
	assert_true(str_equals(profile_basename(STR("")), ""));
}

static void frames_are_told_apart_by_their_files(void **state)
{
	static const struct {
		const char *name;
		const char *file;
		const char *mapping;
		const char *kind;
	} cases[] = {
		{ "forward", "/app/model.py", "", "python" },
		{ "_find_and_load", "<frozen importlib._bootstrap>", "", "python" },
		{ "forward", "/app/model.py", "/usr/bin/python3.12", "python" },
		{ "_PyEval_EvalFrameDefault", "", "/usr/bin/python3.12", "interpreter" },
		{ "PyObject_Call", "", "/usr/lib/libpython3.11.so.1.0", "interpreter" },
		{ "cuMemAlloc_v2", "", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "cuda" },
		{ "cudaMalloc", "", "libcudart.so.12", "cuda" },
		{ "at::empty", "", "/site-packages/torch/lib/libtorch_cuda.so", "native" },
		{ "main", "main.c", "", "native" },
		{ "main.main", "/src/main.go", "", "native" },
		{ "", "", "/usr/bin/python3-config", "native" },
		{ "do_syscall_64", "", "[kernel.kallsyms]", "kernel" },
		{ "nvidia_ioctl", "", "/lib/modules/6.1/nvidia.ko", "kernel" },
		{ "Shop.run", "Shop.java", "", "other" },
		{ "", "", "", "other" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const enum function_kind kind = function_kind_of(
			str_of(cases[i].name), str_of(cases[i].file), str_of(cases[i].mapping));

		assert_string_equal(function_kind_name(kind), cases[i].kind);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(basename_is_what_follows_the_last_slash),
		cmocka_unit_test(frames_are_told_apart_by_their_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
