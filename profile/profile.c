#include "profile/profile.h"

#include "base/cleanup.h"

struct str profile_basename(struct str file)
{
	const ptrdiff_t slash = str_last_index(file, '/');

	return slash < 0 ? file : str_skip(file, (size_t)slash + 1);
}

static bool starts_with_any(struct str text, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_starts_with(text, str_of(prefixes[i])))
			return true;
	return false;
}

static bool ends_with_any(struct str text, const char *const *suffixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_ends_with(text, str_of(suffixes[i])))
			return true;
	return false;
}

static bool is_kernel(struct str mapping_file)
{
	static const char *const starts[] = { "[kernel", "[guest.kernel", "vmlinux" };
	static const char *const ends[] = { ".ko", ".ko.xz", ".ko.gz", ".ko.zst", "/vmlinux" };

	return starts_with_any(mapping_file, starts, ARRAY_LENGTH(starts)) ||
	       ends_with_any(mapping_file, ends, ARRAY_LENGTH(ends));
}

static bool is_cuda(struct str basename)
{
	static const char *const starts[] = { "libcuda.so", "libcudart", "libcudadebugger",
		                              "libnvidia-ptxjitcompiler" };

	return starts_with_any(basename, starts, ARRAY_LENGTH(starts));
}

/*
 * python3, python3.12, libpython3.12.so.1.0: the program or library, not a module of it.
 */
static bool is_interpreter(struct str basename)
{
	struct str rest;

	if (str_starts_with(basename, STR("libpython")))
		return true;
	if (!str_starts_with(basename, STR("python")))
		return false;
	rest = str_skip(basename, strlen("python"));
	for (size_t i = 0; i < rest.length; i++)
		if (rest.data[i] != '.' && (rest.data[i] < '0' || rest.data[i] > '9'))
			return false;
	return true;
}

static bool is_python(struct str function_file)
{
	static const char *const starts[] = { "<frozen ", "<string>",       "<stdin>", "<shim>",
		                              "<python>", "<ipython-input", "<module" };
	static const char *const ends[] = { ".py", ".pyi", ".pyw" };

	return starts_with_any(function_file, starts, ARRAY_LENGTH(starts)) ||
	       ends_with_any(function_file, ends, ARRAY_LENGTH(ends));
}

static bool is_native_source(struct str function_file)
{
	static const char *const ends[] = { ".c",   ".cc",  ".cpp", ".cxx", ".h",  ".hpp",
		                            ".inl", ".cu",  ".cuh", ".rs",  ".go", ".s",
		                            ".S",   ".asm", ".zig", ".f90", ".m",  ".mm" };

	return ends_with_any(function_file, ends, ARRAY_LENGTH(ends));
}

enum function_kind function_kind_of(struct str function_name, struct str function_file,
                                    struct str mapping_file)
{
	struct str basename;

	if (is_kernel(mapping_file))
		return FUNCTION_KERNEL;
	if (is_python(function_file))
		return FUNCTION_PYTHON;
	if (str_equals(function_file, "<interpreter>"))
		return FUNCTION_INTERPRETER;
	basename = profile_basename(mapping_file);
	if (is_cuda(basename))
		return FUNCTION_CUDA;
	if (is_interpreter(basename) || str_starts_with(function_name, STR("_PyEval_")))
		return FUNCTION_INTERPRETER;
	if (mapping_file.length > 0 || is_native_source(function_file))
		return FUNCTION_NATIVE;
	return FUNCTION_OTHER;
}
