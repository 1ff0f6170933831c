/*
 * The memory of a process is the input, over and over: whatever it says, a check ends after a
 * bounded number of reads, and what is read of its code objects can be shown.
 *
 * Input    a byte of version, one that says whether the interpreter has a table of its own
 *          (then that follows), then the memory.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "collector/python/code_names.h"
#include "collector/python/interpreter_check.h"
#include "collector/python/python_offsets.h"

#define READS_MAX 200000

struct fuzz_memory {
	const uint8_t *data;
	size_t size;
	size_t reads;
};

/* Addresses below 2^20 are there; the input repeats. */
static size_t read_memory(const void *context, uint64_t address, void *to, size_t length)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it counts its reads */
	struct fuzz_memory *memory = (struct fuzz_memory *)(uintptr_t)context;
	uint8_t *out = to;

	memory->reads++;
	assert(memory->reads < READS_MAX);
	if (address >= 1 << 20)
		return 0;
	for (size_t i = 0; i < length; i++)
		out[i] = memory->data[(address + i) % memory->size];
	return length;
}

static int describe(const uint8_t **data, size_t *size, struct python_description *out)
{
	struct error err = { 0 };
	const uint8_t version = (*data)[0];
	const uint8_t has_block = (*data)[1];

	*data += 2;
	*size -= 2;
	if (has_block % 2 == 0)
		return python_offsets_of_version(0x0308 + version % 7, out, &err);
	if (python_offsets_of_block(*data, *size, out, &err) != 1)
		return -1;
	*data += *size < DEBUG_OFFSETS_BYTES ? *size : DEBUG_OFFSETS_BYTES;
	*size -= *size < DEBUG_OFFSETS_BYTES ? *size : DEBUG_OFFSETS_BYTES;
	return 0;
}

static void read_code(const struct python_description *python, const struct python_memory *memory)
{
	CLEANUP(code_names_freep)
	struct code_names *names = code_names_new(&(struct code_names_options){ 0 });
	const struct code_process process = { .python = python, .memory = memory };

	for (uint64_t code = 0; code < 64; code += 8) {
		struct python_frame frame = { .code = code, .type = code + 128, .position = 500 };
		struct code_name name;

		memory->read(memory->context, code + python->offsets.code_first_line,
		             &frame.first_line, sizeof(frame.first_line));
		code_names_find(names, &process, &frame, &name);
		assert(name.name.length > 0 && utf8_is_valid(name.name));
		assert(utf8_is_valid(name.file));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct python_description description = { .thread_data = { 1296, 5, 16, 8 } };
	struct interpreter_process process = { 0 };
	struct fuzz_memory memory = { 0 };
	struct error err = { 0 };
	int checked;

	if (size < 3 || describe(&data, &size, &description) < 0 || size == 0)
		return 0;
	memory = (struct fuzz_memory){ data, size, 0 };
	process.memory = (struct python_memory){ .read = read_memory, .context = &memory };
	memcpy(&description.runtime, data, size < 2 ? size : 2);
	memcpy(&description.code_type, data + size / 2, size - size / 2 < 8 ? size - size / 2 : 8);
	checked = interpreter_check(&process, &description, &err);
	assert(checked == 0 || err.code == ERROR_INVALID || err.code == ERROR_UNAVAILABLE);
	read_code(&description, &process.memory);
	return 0;
}
