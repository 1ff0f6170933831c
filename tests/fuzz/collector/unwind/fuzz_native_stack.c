/*
 * Registers and stack bytes that lie, over the code of this process: the walk ends, frames
 * go up, and nothing but the bytes is read.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "collector/unwind/address_space.h"
#include "collector/unwind/frame_names.h"
#include "collector/unwind/native_stack.h"

#define STACK_BASE UINT64_C(0x7ff000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct subject {
	struct address_space *space;
	struct frame_names *names;
};

static struct subject make_subject(void)
{
	struct process_view view;
	struct error err;
	struct subject subject;

	assert(process_view_open(getpid(), &view, &err) == 0);
	subject.space = address_space_new(module_cache_new(MODULE_SYMBOL_BYTES_USUAL), &view);
	subject.names = frame_names_new(FRAME_NAMES_BYTES_USUAL, FRAME_UNNAMED_MODULE);
	assert(address_space_read(subject.space, &err) == 0);
	return subject;
}

/* Two bytes say an address: one of code, or one of the stack. */
static uint64_t address_of(const struct subject *subject, uint16_t word)
{
	size_t count;
	const struct mapping *mappings = address_space_mappings(subject->space, &count);
	const struct mapping *mapping = &mappings[word % count];

	if (word & 0x8000)
		return STACK_BASE + (word & 0xfff) * 8;
	return mapping->start + (word / count * 257) % (mapping->end - mapping->start);
}

static void check(const struct subject *subject, const struct native_stack *stack)
{
	struct frame frame;

	assert(stack->count <= NATIVE_FRAMES_MAX);
	frame_names_begin(subject->names);
	for (size_t i = 0; i < stack->count; i++) {
		assert(i == 0 ||
		       stack->frames[i].stack_pointer > stack->frames[i - 1].stack_pointer);
		frame_names_get(subject->names, subject->space, &stack->frames[i], &frame);
		assert(frame.name.length > 0);
	}
	if (frame_names_end(subject->names, subject->space, stack, &frame))
		assert(frame.name.length > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct subject subject; /* kept: making it reads many files */
	static struct native_stack stack;
	static uint64_t words[8192];
	struct captured_stack captured = { .base = STACK_BASE };
	size_t count = size / 2;

	if (!subject.space)
		subject = make_subject();
	if (count > sizeof(words) / sizeof(words[0]))
		count = sizeof(words) / sizeof(words[0]);
	for (size_t i = 0; i < count; i++) {
		uint16_t word;

		memcpy(&word, data + 2 * i, sizeof(word));
		words[i] = address_of(&subject, word);
	}
	captured.length = (uint32_t)(count * sizeof(words[0]));
	for (size_t i = 0; i < STACK_REGISTER_COUNT && count > 0; i++)
		captured.registers[i] = words[i % count];
	captured.registers[STACK_REGISTER_RSP] = STACK_BASE;
	captured.return_probe_count = size > 0 ? data[0] : 0;
	native_stack_unwind(subject.space, &captured, (const uint8_t *)words, &stack);
	check(&subject, &stack);
	return 0;
}
