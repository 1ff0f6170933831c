/*
 * Three steps: the file that holds _PyRuntime; its version, and with it the offsets; then a
 * look into the process (interpreter_check.c).
 */
#include "collector/python/interpreter.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "collector/python/interpreter_check.h"
#include "collector/python/python_offsets.h"
#include "collector/unwind/address_space.h"

#define PATH_SHOWN          120
#define RUNTIME_BYTES_LEAST 512 /* of _PyRuntime: nothing that is read of it lies before */

/* The address of _PyRuntime in the file; false when the file holds no interpreter. */
static bool find_runtime(const struct interpreter_module *module, uint64_t *out_address)
{
	struct elf_section section;

	if (elf_image_export(module->image, "_PyRuntime", out_address))
		return true;
	if (!elf_image_section(module->image, ".PyRuntime", &section) ||
	    section.size < RUNTIME_BYTES_LEAST)
		return false;
	*out_address = section.address;
	return true;
}

/* The number behind `prefix` in a path: python3.12, cpython-310. */
static uint32_t version_behind(struct str path, struct str prefix)
{
	const ptrdiff_t at = str_find(path, prefix);
	uint32_t minor = 0;
	struct str rest;

	if (at < 0)
		return 0;
	rest = str_skip(path, (size_t)at + prefix.length);
	for (size_t i = 0; i < rest.length && i < 2; i++) {
		const unsigned int digit = (unsigned char)rest.data[i] - (unsigned int)'0';

		if (digit > 9)
			break;
		minor = minor * 10 + digit;
	}
	return minor ? PYTHON_VERSION(3U, minor) : 0;
}

/* Before 3.11 nothing in the file says it: its name does, or those of its extensions. */
static uint32_t version_of_names(const struct interpreter_process *process,
                                 const struct interpreter_module *module)
{
	uint32_t version = version_behind(module->path, STR("python3."));

	for (size_t i = 0; i < process->module_count && version == 0; i++)
		version = version_behind(process->modules[i].path, STR(".cpython-3"));
	for (size_t i = 0; i < process->module_count && version == 0; i++)
		version = version_behind(process->modules[i].path, STR("python3."));
	return version;
}

static uint32_t version_of(const struct interpreter_process *process,
                           const struct interpreter_module *module)
{
	uint64_t address;
	uint64_t number;

	if (elf_image_export(module->image, "Py_Version", &address) &&
	    elf_image_read(module->image, address, &number, sizeof(number)) == sizeof(number))
		return (uint32_t)(number >> 16) & 0xffff;
	return version_of_names(process, module);
}

static int find_offsets(const struct interpreter_process *process,
                        const struct interpreter_module *module, uint64_t runtime,
                        struct python_description *description, struct error *err)
{
	uint8_t block[DEBUG_OFFSETS_BYTES];
	const size_t length = elf_image_read(module->image, runtime, block, sizeof(block));
	const int found = python_offsets_of_block(block, length, description, err);
	uint32_t version;

	if (found != 0)
		return found < 0 ? -1 : 0;
	version = version_of(process, module);
	if (version >= PYTHON_VERSION(3, 13))
		return error_set(err, ERROR_INVALID, "Python %u.%u without its table of offsets",
		                 version >> 8, version & 0xff);
	return python_offsets_of_version(version, description, err);
}

/* Where glibc says that a thread's data lie; its constants for x86-64 where it does not. */
static struct python_thread_data glibc_thread_data(const struct elf_image *image)
{
	struct python_thread_data data = {
		.blocks = 1296, .block_bits = 5, .entry = 16, .data = 8
	};
	uint32_t specific[3]; /* bits, count, byte offset in struct pthread */
	uint64_t address;

	if (image && elf_image_export(image, "_thread_db_pthread_specific", &address) &&
	    elf_image_read(image, address, specific, sizeof(specific)) == sizeof(specific))
		data.blocks = (int32_t)specific[2];
	return data;
}

/*
 * musl, x86-64: a pointer behind the thread pointer, to plain values. It has no symbol for it;
 * whether it is so is seen in the process.
 */
static const struct python_thread_data musl_thread_data = {
	.blocks = 0x80, .block_bits = 31, .entry = 8, .data = 0
};

static struct python_thread_data thread_data_of(const struct interpreter_process *process)
{
	const struct elf_image *libc = NULL;
	uint64_t address;

	for (size_t i = 0; i < process->module_count; i++) {
		const struct str path = process->modules[i].path;

		if (str_find(path, STR("/ld-musl-")) >= 0 ||
		    str_find(path, STR("/libc.musl-")) >= 0)
			return musl_thread_data;
		if (elf_image_export(process->modules[i].image, "_thread_db_pthread_specific",
		                     &address))
			libc = process->modules[i].image;
	}
	return glibc_thread_data(libc);
}

static int describe_module(const struct interpreter_process *process,
                           const struct interpreter_module *module, uint64_t runtime,
                           struct python_description *out, struct error *err)
{
	struct python_description description = { 0 };
	uint64_t code_type;

	if (find_offsets(process, module, runtime, &description, err) < 0)
		return -1;
	if (!elf_image_export(module->image, "PyCode_Type", &code_type))
		return error_set(err, ERROR_INVALID, "no PyCode_Type beside _PyRuntime");
	description.runtime = module->bias + runtime;
	description.code_type = module->bias + code_type;
	description.thread_data = thread_data_of(process);
	if (interpreter_check(process, &description, err) < 0)
		return error_context(err, "Python %u.%u", description.version >> 8,
		                     description.version & 0xff);
	*out = description;
	return 0;
}

int interpreter_describe(const struct interpreter_process *process, struct python_description *out,
                         struct error *err)
{
	int found = 0;

	for (size_t i = 0; i < process->module_count; i++) {
		const struct interpreter_module *module = &process->modules[i];
		uint64_t runtime;

		if (!find_runtime(module, &runtime))
			continue;
		found = 1;
		if (describe_module(process, module, runtime, out, err) == 0)
			return 0;
		(void)error_context(
			err, "%.*s",
			STR_ARGS(str_skip(module->path, module->path.length > PATH_SHOWN
		                                                ? module->path.length - PATH_SHOWN
		                                                : 0)));
	}
	/* Of several that are refused the last one's reason is as good as another's. */
	return found ? -1 : error_set(err, ERROR_NOT_FOUND, "no file with a Python interpreter");
}

int interpreter_describe_space(const struct address_space *space, struct python_description *out,
                               struct error *err)
{
	size_t count;
	const struct mapping *mappings = address_space_mappings(space, &count);
	CLEANUP(mem_freep)
	struct interpreter_module *modules = mem_zalloc(count + 1, sizeof(*modules));
	struct interpreter_process process = {
		.modules = modules,
		.memory = python_memory_of_space(space),
	};

	for (size_t i = 0; i < count; i++)
		if (mappings[i].module)
			modules[process.module_count++] = (struct interpreter_module){
				.image = module_image(mappings[i].module),
				.bias = mappings[i].bias,
				.path = str_of(mappings[i].path),
			};
	return interpreter_describe(&process, out, err);
}
