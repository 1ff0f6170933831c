/*
 * Any native frames, any Python frames: each of them stands in the stack once, in its order,
 * as long as there is room.
 *
 * Input    a byte of flags, one that says how many native frames there are; then a byte for
 *          each (size, module, trampoline), then two for each Python frame (flags, marker).
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collector/python/python_stack.h"

static void name_native(void *context, const struct native_frame *native, struct frame *out)
{
	(void)context;
	*out = (struct frame){ .name = native->address % 3 ? STR("f")
		                                           : STR("_PyEval_EvalFrameDefault"),
		               .address = native->program_counter + 1,
		               .kind = FUNCTION_NATIVE };
}

static bool name_end(void *context, const struct native_stack *stack, struct frame *out)
{
	(void)context;
	*out = (struct frame){ .name = STR("[end]") };
	return stack->end != NATIVE_STACK_COMPLETE;
}

static size_t fill_native(struct native_stack *native, const uint8_t *data, size_t size)
{
	size_t trampolines = 0;
	uint64_t stack = 0x1000;

	for (size_t i = 0; i < size; i++) {
		struct native_frame *frame = &native->frames[native->count++];

		*frame = (struct native_frame){
			.program_counter = i,
			.address = data[i],
			.stack_pointer = stack,
			.frame_end = stack + (data[i] & 15),
			/* NOLINTNEXTLINE(performance-no-int-to-ptr): never looked into */
			.module = (struct module *)(uintptr_t)(data[i] >> 4 & 3),
			.is_trampoline = data[i] >> 7,
		};
		stack = frame->frame_end;
		trampolines += frame->is_trampoline;
	}
	return trampolines;
}

static void fill_python(struct captured_stack *captured, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i + 1 < size && captured->python_count < PYTHON_FRAMES_MAX; i += 2)
		captured->python[captured->python_count++] = (struct python_frame){
			.flags = data[i] & 3,
			.first_line = captured->python_count,
			.marker = data[i + 1] ? 0x1000 + data[i + 1] : 0,
		};
}

/* Native frames by their address, Python ones by what nobody could name, in order. */
static void check_order(const struct frame_list *list, size_t natives, size_t pythons)
{
	uint64_t last = 0;
	size_t native_seen = 0;
	size_t python_seen = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct frame *frame = &list->frames[i];

		assert(frame->name.length > 0);
		if (frame->address > 0) {
			assert(frame->address > last);
			last = frame->address;
			native_seen++;
		}
		python_seen += str_equals(frame->name, "<unknown python function>");
	}
	if (list->count < FRAMES_MAX) {
		assert(native_seen == natives);
		assert(python_seen == pythons);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(code_names_freep)
	struct code_names *names = code_names_new(&(struct code_names_options){ 0 });
	CLEANUP(mem_freep) struct native_stack *native = mem_zalloc(1, sizeof(*native));
	CLEANUP(mem_freep) struct captured_stack *captured = mem_zalloc(1, sizeof(*captured));
	CLEANUP(mem_freep) struct frame *frames = mem_zalloc(FRAMES_MAX, sizeof(*frames));
	struct frame_list list = { .frames = frames };
	size_t natives;
	size_t trampolines;

	if (size < 2)
		return 0;
	natives = 2 * (size_t)data[1] < size - 2 ? 2 * (size_t)data[1] : size - 2;
	trampolines = fill_native(native, data + 2, natives);
	fill_python(captured, data + 2 + natives, size - 2 - natives);
	captured->flags = data[0] & 7;
	native->end = data[0] >> 3 & 1 ? NATIVE_STACK_NO_RULE : NATIVE_STACK_COMPLETE;
	python_stack_merge(
		names, &(struct native_namer){ name_native, name_end, NULL }, PYTHON_INTERNALS_MARK,
		&(struct python_stack_input){ &(struct code_process){ 0 }, captured, native },
		&list);
	assert(list.count <= FRAMES_MAX);
	check_order(&list, natives - trampolines, captured->python_count);
	return 0;
}
