/*
 * Definitions in any order, frames that refer to them or not, exits: every frame has a name
 * that can be shown, and the memory stays near its limit.
 *
 * Input    steps: a byte that says what, a byte of process, then for a definition two bytes of
 *          address, kinds, lengths and up to 32 bytes of text; for a frame addresses and
 *          position.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "collector/python/code_names.h"

#define LIMIT_BYTES  16384
#define ONE_CODE_MAX 65536 /* what a single step may take beyond the limit */
#define TEXT_BYTES   32

struct input {
	const uint8_t *at;
	size_t left;
};

/* The next bytes; zeros behind the end. */
static void take(struct input *input, void *to, size_t count)
{
	const size_t there = count < input->left ? count : input->left;

	memset(to, 0, count);
	memcpy(to, input->at, there);
	input->at += there;
	input->left -= there;
}

static uint32_t take_u32(struct input *input)
{
	uint32_t number;

	take(input, &number, sizeof(number));
	return number;
}

static uint8_t take_u8(struct input *input)
{
	uint8_t number;

	take(input, &number, sizeof(number));
	return number;
}

static void define(struct code_names *names, struct input *input, uint32_t tgid)
{
	static struct code_definition definition;

	memset(&definition, 0xa5, sizeof(definition));
	definition.kind = take_u8(input);
	definition.version = 0x0308 + take_u8(input) % 7;
	definition.tgid = tgid;
	definition.process_start_ns = 1;
	definition.object = take_u8(input);
	definition.first_line = take_u8(input);
	definition.name_string = (struct code_string){ take_u8(input), take_u32(input) };
	definition.file_string = (struct code_string){ take_u8(input), take_u32(input) };
	definition.table_length = take_u32(input);
	take(input, definition.name, TEXT_BYTES);
	take(input, definition.file, TEXT_BYTES);
	take(input, definition.table, TEXT_BYTES);
	code_names_define(names, &definition, sizeof(definition));
}

static void find(struct code_names *names, struct input *input, uint32_t tgid)
{
	const struct code_process process = { .tgid = tgid, .start_ns = 1 };
	const struct python_frame frame = { .code = take_u8(input),
		                            .first_line = take_u8(input),
		                            .type = take_u8(input),
		                            .position = (int32_t)take_u32(input) };
	struct code_name name;

	code_names_begin(names, tgid, 1);
	code_names_find(names, &process, &frame, &name);
	assert(name.name.length > 0 && utf8_is_valid(name.name));
	assert(utf8_is_valid(name.file));
	assert(name.line >= 0 && name.line <= INT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(code_names_freep)
	struct code_names *names = code_names_new(&(struct code_names_options){
		.limit_bytes = LIMIT_BYTES, .process_limit_bytes = LIMIT_BYTES / 2 });
	struct input input = { data, size };
	struct code_names_counts counts;

	while (input.left > 0) {
		const uint8_t step = take_u8(&input);
		const uint32_t tgid = take_u8(&input);

		if (step % 8 == 0)
			code_names_exit(names, tgid, 1);
		else if (step % 2)
			define(names, &input, tgid);
		else
			find(names, &input, tgid);
		code_names_counts(names, &counts);
		assert(counts.bytes <= LIMIT_BYTES + ONE_CODE_MAX);
	}
	return 0;
}
