#include "collector/unwind/native_stack.h"

#include "collector/elf/architecture.h"
#include "collector/elf/module.h"
#include "collector/unwind/address_space.h"
#include "collector/unwind/frame_expression.h"
#include "collector/unwind/stack_memory.h"

struct walk {
	struct address_space *space;
	const struct captured_stack *captured;
	struct stack_memory memory;
	struct native_stack *out;
	uint64_t registers[REGISTER_COUNT];
	uint32_t probes_used;
	bool is_exact; /* the program counter is where code goes on, not behind a call */
};

/* How one step ended: on to the caller, or with a reason in out->end. */
enum step {
	STEP_ON,
	STEP_END,
};

static enum step end_with(struct walk *walk, enum native_stack_end end)
{
	walk->out->end = end;
	return STEP_END;
}

/* The stack ends because an address is not in the copy. */
static enum step end_outside(struct walk *walk, uint64_t address)
{
	return end_with(walk, address >= walk->memory.base ? NATIVE_STACK_TRUNCATED
	                                                   : NATIVE_STACK_BROKEN);
}

/*
 * A return address that points to the page of return probes has been replaced there. The
 * kernel's list has the true one: by its slot, or else in the order of the list.
 */
static void undo_return_probe(struct walk *walk, uint64_t cfa)
{
	const struct captured_stack *captured = walk->captured;
	const uint64_t pc = walk->registers[REGISTER_RETURN_ADDRESS];
	const struct mapping *mapping;
	uint32_t count = captured->return_probe_count;

	if (count == 0)
		return;
	mapping = address_space_find(walk->space, pc);
	if (mapping && mapping->kind != MAPPING_RETURN_PROBES)
		return;
	if (count > RETURN_PROBES_MAX)
		count = RETURN_PROBES_MAX;
	for (uint32_t i = walk->probes_used; i < count; i++) {
		const struct return_probe *probe = &captured->return_probes[i];

		if (probe->slot != cfa && probe->slot != cfa - RETURN_SLOT_BYTES)
			continue;
		walk->registers[REGISTER_RETURN_ADDRESS] = probe->address;
		walk->probes_used = i + 1;
		return;
	}
	if (mapping && walk->probes_used < count)
		walk->registers[REGISTER_RETURN_ADDRESS] =
			captured->return_probes[walk->probes_used++].address;
}

static bool compute(struct walk *walk, struct module *module, int32_t place, const uint64_t *cfa,
                    uint64_t *out, uint64_t *out_outside)
{
	uint8_t bytes[FRAME_EXPRESSION_BYTES];
	struct frame_expression expression = {
		.bytes = bytes,
		.length = module_expression(module, place, bytes, sizeof(bytes)),
		.registers = walk->registers,
		.memory = &walk->memory,
	};

	if (frame_expression_compute(&expression, cfa, out))
		return true;
	*out_outside = expression.address;
	return false;
}

/* The caller's value of a register that a row changes. False: *out_outside was not there. */
static bool recover(struct walk *walk, const struct native_frame *frame,
                    const struct unwind_row *row, int reg, uint64_t *out, uint64_t *out_outside)
{
	const uint64_t cfa = frame->frame_end;
	const int32_t number = row->numbers[reg];

	switch (row->rules[reg]) {
	case RULE_OFFSET:
		*out_outside = cfa + (uint64_t)(int64_t)number;
		return stack_memory_read(&walk->memory, *out_outside, ADDRESS_BYTES, out);
	case RULE_VALUE_OFFSET:
		*out = cfa + (uint64_t)(int64_t)number;
		return true;
	case RULE_REGISTER:
		*out = walk->registers[number];
		return true;
	case RULE_EXPRESSION:
		if (!compute(walk, frame->module, number, &cfa, out_outside, out_outside))
			return false;
		return stack_memory_read(&walk->memory, *out_outside, ADDRESS_BYTES, out);
	case RULE_VALUE_EXPRESSION:
		return compute(walk, frame->module, number, &cfa, out, out_outside);
	default: /* undefined */
		*out = 0;
		return true;
	}
}

/* By the row of the file. */
static enum step step_by_row(struct walk *walk, struct native_frame *frame,
                             const struct unwind_row *row)
{
	uint64_t callers[REGISTER_COUNT];
	uint64_t outside = 0;

	if (row->cfa_is_expression) {
		if (!compute(walk, frame->module, row->cfa_number, NULL, &frame->frame_end,
		             &outside))
			return outside ? end_outside(walk, outside)
			               : end_with(walk, NATIVE_STACK_NO_RULE);
	} else {
		frame->frame_end =
			walk->registers[row->cfa_register] + (uint64_t)(int64_t)row->cfa_number;
	}
	if (row->rules[REGISTER_RETURN_ADDRESS] == RULE_UNDEFINED)
		return end_with(walk, NATIVE_STACK_COMPLETE);
	if (frame->frame_end <= frame->stack_pointer)
		return end_with(walk, NATIVE_STACK_BROKEN);
	memcpy(callers, walk->registers, sizeof(callers));
	callers[REGISTER_STACK_POINTER] = frame->frame_end;
	for (uint32_t left = row->changed; left != 0; left &= left - 1) {
		const int reg = __builtin_ctz(left);

		if (!recover(walk, frame, row, reg, &callers[reg], &outside))
			return end_outside(walk, outside);
	}
	if (callers[REGISTER_STACK_POINTER] <= frame->stack_pointer)
		return end_with(walk, NATIVE_STACK_BROKEN); /* a handler on a stack of its own */
	memcpy(walk->registers, callers, sizeof(callers));
	walk->is_exact = row->is_signal;
	undo_return_probe(walk, frame->frame_end);
	return STEP_ON;
}

/* A trampoline of python -X perf: it has pushed nothing but its own room or the frame pointer. */
static enum step step_by_trampoline(struct walk *walk, struct native_frame *frame,
                                    enum trampoline_state trampoline)
{
	const uint64_t slot = frame->stack_pointer + PERF_TRAMPOLINE_FRAME;

	frame->is_trampoline = 1;
	frame->frame_end = slot + RETURN_SLOT_BYTES;
	if (!stack_memory_read(&walk->memory, slot, ADDRESS_BYTES,
	                       &walk->registers[REGISTER_RETURN_ADDRESS]))
		return end_outside(walk, slot);
	if (trampoline == TRAMPOLINE_PUSHES)
		(void)stack_memory_read(&walk->memory, frame->stack_pointer, ADDRESS_BYTES,
		                        &walk->registers[REGISTER_FRAME_POINTER]);
	walk->registers[REGISTER_STACK_POINTER] = frame->frame_end;
	walk->is_exact = false;
	undo_return_probe(walk, frame->frame_end);
	return STEP_ON;
}

/*
 * The last resort, for code without rows: the frame pointer, if it is one. It must point
 * into the copy above the stack pointer, the next one further up, and the return address
 * into code.
 */
static enum step step_by_frame_pointer(struct walk *walk, struct native_frame *frame)
{
	const uint64_t pointer = walk->registers[REGISTER_FRAME_POINTER];
	uint64_t next;
	uint64_t address;

	if (pointer < frame->stack_pointer ||
	    !stack_memory_read(&walk->memory, pointer, ADDRESS_BYTES, &next) ||
	    !stack_memory_read(&walk->memory, pointer + ADDRESS_BYTES, ADDRESS_BYTES, &address) ||
	    (next != 0 && next <= pointer) || !address_space_find(walk->space, address))
		return end_with(walk, NATIVE_STACK_NO_RULE);
	frame->frame_end = pointer + ADDRESS_BYTES + RETURN_SLOT_BYTES;
	walk->registers[REGISTER_FRAME_POINTER] = next;
	walk->registers[REGISTER_RETURN_ADDRESS] = address;
	walk->registers[REGISTER_STACK_POINTER] = frame->frame_end;
	walk->is_exact = false;
	undo_return_probe(walk, frame->frame_end);
	return STEP_ON;
}

/* Such an address is the first of its page: the one before it is somebody else's. */
static bool is_return_probe(const struct walk *walk, uint64_t pc)
{
	const struct mapping *mapping = address_space_known(walk->space, pc);

	return mapping && mapping->kind == MAPPING_RETURN_PROBES;
}

static enum step step(struct walk *walk)
{
	const uint64_t pc = walk->registers[REGISTER_RETURN_ADDRESS];
	struct native_frame *frame = &walk->out->frames[walk->out->count++];
	const struct mapping *mapping;
	const struct unwind_row *row = NULL;
	enum trampoline_state trampoline = TRAMPOLINE_NO;

	*frame = (struct native_frame){
		.program_counter = pc,
		.lookup = walk->is_exact ? pc : pc - 1,
		.stack_pointer = walk->registers[REGISTER_STACK_POINTER],
	};
	mapping = address_space_known(walk->space, frame->lookup);
	if ((!mapping || mapping->end == pc) && is_return_probe(walk, pc)) {
		walk->out->count--; /* nobody's code */
		return end_with(walk, NATIVE_STACK_RETURN_PROBE);
	}
	if (!mapping)
		mapping = address_space_find(walk->space, frame->lookup);
	if (!mapping)
		return end_with(walk, NATIVE_STACK_NO_MAPPING);
	if (mapping->module) {
		frame->module = mapping->module;
		frame->address = frame->lookup - mapping->bias;
		row = module_row(frame->module, frame->address);
	}
	if (row)
		return step_by_row(walk, frame, row);
	if (!mapping->module)
		trampoline = address_space_trampoline(walk->space, pc);
	if (trampoline != TRAMPOLINE_NO)
		return step_by_trampoline(walk, frame, trampoline);
	return step_by_frame_pointer(walk, frame);
}

void native_stack_unwind(struct address_space *space, const struct captured_stack *captured,
                         const uint8_t *bytes, struct native_stack *out)
{
	struct walk walk = {
		.space = space,
		.captured = captured,
		.memory = { .base = captured->base, .length = captured->length, .bytes = bytes },
		.out = out,
		.is_exact = true,
	};

	memcpy(walk.registers, captured->registers, sizeof(walk.registers));
	out->count = 0;
	for (;;) {
		if (step(&walk) == STEP_END)
			return;
		if (walk.registers[REGISTER_RETURN_ADDRESS] == 0) {
			out->end = NATIVE_STACK_COMPLETE;
			return;
		}
		if (out->count == NATIVE_FRAMES_MAX) {
			out->end = NATIVE_STACK_DEPTH;
			return;
		}
	}
}
