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
		enum function_kind kind;
	} cases[] = {
		{ "forward", "/app/model.py", "", FUNCTION_PYTHON },
		{ "_find_and_load", "<frozen importlib._bootstrap>", "", FUNCTION_PYTHON },
		{ "forward", "/app/model.py", "/usr/bin/python3.12", FUNCTION_PYTHON },
		{ "_PyEval_EvalFrameDefault", "", "/usr/bin/python3.12", FUNCTION_INTERPRETER },
		{ "PyObject_Call", "", "/usr/lib/libpython3.11.so.1.0", FUNCTION_INTERPRETER },
		{ "slot_tp_call", "<interpreter>", "/opt/app/server", FUNCTION_INTERPRETER },
		{ "<unknown python function>", "<python>", "", FUNCTION_PYTHON },
		{ "<interpreter trampoline>", "<shim>", "", FUNCTION_PYTHON },
		{ "cuMemAlloc_v2", "", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", FUNCTION_CUDA },
		{ "cudaMalloc", "", "libcudart.so.12", FUNCTION_CUDA },
		{ "at::empty", "", "/site-packages/torch/lib/libtorch_cuda.so", FUNCTION_NATIVE },
		{ "main", "main.c", "", FUNCTION_NATIVE },
		{ "main.main", "/src/main.go", "", FUNCTION_NATIVE },
		{ "", "", "/usr/bin/python3-config", FUNCTION_NATIVE },
		{ "do_syscall_64", "", "[kernel.kallsyms]", FUNCTION_KERNEL },
		{ "nvidia_ioctl", "", "/lib/modules/6.1/nvidia.ko", FUNCTION_KERNEL },
		{ "Shop.run", "Shop.java", "", FUNCTION_OTHER },
		{ "", "", "", FUNCTION_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const enum function_kind kind = function_kind_of(
			str_of(cases[i].name), str_of(cases[i].file), str_of(cases[i].mapping));

		assert_int_equal(kind, cases[i].kind);
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
