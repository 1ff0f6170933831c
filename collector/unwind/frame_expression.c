#include "collector/unwind/frame_expression.h"

#include <dwarf.h>

#include "collector/elf/frame_cursor.h"

struct machine {
	struct frame_expression *expression;
	struct frame_cursor cursor;
	uint64_t stack[FRAME_EXPRESSION_DEPTH];
	size_t depth;
	bool failed;
};

static void push(struct machine *machine, uint64_t value)
{
	if (machine->depth == FRAME_EXPRESSION_DEPTH)
		machine->failed = true;
	else
		machine->stack[machine->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
	if (machine->depth > 0)
		return machine->stack[--machine->depth];
	machine->failed = true;
	return 0;
}

/* The value `below` the top. */
static uint64_t peek(struct machine *machine, uint64_t below)
{
	if (below < machine->depth)
		return machine->stack[machine->depth - 1 - below];
	machine->failed = true;
	return 0;
}

static void push_register(struct machine *machine, uint64_t number)
{
	const uint64_t offset = (uint64_t)frame_cursor_sleb(&machine->cursor);

	if (number < REGISTER_COUNT)
		push(machine, machine->expression->registers[number] + offset);
	else
		machine->failed = true;
}

static void push_memory(struct machine *machine, uint64_t length)
{
	const uint64_t address = pop(machine);
	uint64_t value = 0;

	if (length == 0 || length > ADDRESS_BYTES ||
	    !stack_memory_read(machine->expression->memory, address, length, &value)) {
		machine->expression->address = address;
		machine->failed = true;
	}
	push(machine, value);
}

/* Constants. False: the operation is none of them. */
static bool run_constant(struct machine *machine, uint8_t operation)
{
	struct frame_cursor *cursor = &machine->cursor;

	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
		push(machine, operation - DW_OP_lit0);
		return true;
	}
	switch (operation) {
	case DW_OP_addr:
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(machine, frame_cursor_fixed(cursor, 8));
		return true;
	case DW_OP_const1u:
		push(machine, frame_cursor_fixed(cursor, 1));
		return true;
	case DW_OP_const1s:
		push(machine, (uint64_t)frame_cursor_signed(cursor, 1));
		return true;
	case DW_OP_const2u:
		push(machine, frame_cursor_fixed(cursor, 2));
		return true;
	case DW_OP_const2s:
		push(machine, (uint64_t)frame_cursor_signed(cursor, 2));
		return true;
	case DW_OP_const4u:
		push(machine, frame_cursor_fixed(cursor, 4));
		return true;
	case DW_OP_const4s:
		push(machine, (uint64_t)frame_cursor_signed(cursor, 4));
		return true;
	case DW_OP_constu:
		push(machine, frame_cursor_uleb(cursor));
		return true;
	case DW_OP_consts:
		push(machine, (uint64_t)frame_cursor_sleb(cursor));
		return true;
	default:
		return false;
	}
}

/* Registers, memory, and the order of the stack. */
static bool run_access(struct machine *machine, uint8_t operation)
{
	struct frame_cursor *cursor = &machine->cursor;
	uint64_t top;

	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) {
		push_register(machine, operation - DW_OP_breg0);
		return true;
	}
	switch (operation) {
	case DW_OP_nop:
		return true;
	case DW_OP_bregx:
		push_register(machine, frame_cursor_uleb(cursor));
		return true;
	case DW_OP_deref:
		push_memory(machine, ADDRESS_BYTES);
		return true;
	case DW_OP_deref_size:
		push_memory(machine, frame_cursor_fixed(cursor, 1));
		return true;
	case DW_OP_dup:
		push(machine, peek(machine, 0));
		return true;
	case DW_OP_over:
		push(machine, peek(machine, 1));
		return true;
	case DW_OP_pick:
		push(machine, peek(machine, frame_cursor_fixed(cursor, 1)));
		return true;
	case DW_OP_drop:
		(void)pop(machine);
		return true;
	case DW_OP_swap: {
		uint64_t below;

		top = pop(machine);
		below = pop(machine);
		push(machine, top);
		push(machine, below);
		return true;
	}
	default:
		return false;
	}
}

static bool run_unary(struct machine *machine, uint8_t operation)
{
	switch (operation) {
	case DW_OP_abs: {
		const int64_t value = (int64_t)pop(machine);

		push(machine, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
		return true;
	}
	case DW_OP_neg:
		push(machine, 0 - pop(machine));
		return true;
	case DW_OP_not:
		push(machine, ~pop(machine));
		return true;
	case DW_OP_plus_uconst:
		push(machine, pop(machine) + frame_cursor_uleb(&machine->cursor));
		return true;
	default:
		return false;
	}
}

static bool compute(uint8_t operation, uint64_t a, uint64_t b, uint64_t *out)
{
	switch (operation) {
	case DW_OP_plus:
		*out = a + b;
		return true;
	case DW_OP_minus:
		*out = a - b;
		return true;
	case DW_OP_mul:
		*out = a * b;
		return true;
	case DW_OP_and:
		*out = a & b;
		return true;
	case DW_OP_or:
		*out = a | b;
		return true;
	case DW_OP_xor:
		*out = a ^ b;
		return true;
	case DW_OP_shl:
		*out = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*out = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_shra:
		*out = (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
		return true;
	default:
		return false;
	}
}

static bool compare(uint8_t operation, int64_t a, int64_t b, uint64_t *out)
{
	switch (operation) {
	case DW_OP_eq:
		*out = a == b;
		return true;
	case DW_OP_ne:
		*out = a != b;
		return true;
	case DW_OP_ge:
		*out = a >= b;
		return true;
	case DW_OP_gt:
		*out = a > b;
		return true;
	case DW_OP_le:
		*out = a <= b;
		return true;
	case DW_OP_lt:
		*out = a < b;
		return true;
	default:
		return false;
	}
}

static bool run_binary(struct machine *machine, uint8_t operation)
{
	const uint64_t b = pop(machine);
	const uint64_t a = pop(machine);
	uint64_t result;

	if (!compute(operation, a, b, &result) &&
	    !compare(operation, (int64_t)a, (int64_t)b, &result))
		return false;
	push(machine, result);
	return true;
}

static bool run_jump(struct machine *machine, uint8_t operation)
{
	struct frame_cursor *cursor = &machine->cursor;
	int64_t distance;

	if (operation != DW_OP_skip && operation != DW_OP_bra)
		return false;
	distance = frame_cursor_signed(cursor, 2);
	if (operation == DW_OP_bra && pop(machine) == 0)
		return true;
	if (distance < cursor->start - cursor->at || distance > cursor->end - cursor->at)
		machine->failed = true;
	else
		cursor->at += distance;
	return true;
}

bool frame_expression_compute(struct frame_expression *expression, const uint64_t *first,
                              uint64_t *out)
{
	struct machine machine = { .expression = expression };

	machine.cursor = frame_cursor(expression->bytes, expression->length, 0);
	expression->address = 0;
	if (first)
		push(&machine, *first);
	for (int steps = 0; frame_cursor_left(&machine.cursor) > 0; steps++) {
		const uint8_t operation = (uint8_t)frame_cursor_fixed(&machine.cursor, 1);

		if (steps == FRAME_EXPRESSION_STEPS ||
		    (!run_constant(&machine, operation) && !run_access(&machine, operation) &&
		     !run_jump(&machine, operation) && !run_unary(&machine, operation) &&
		     !run_binary(&machine, operation)) ||
		    machine.failed || machine.cursor.bad)
			return false;
	}
	if (machine.depth == 0)
		return false;
	*out = machine.stack[machine.depth - 1];
	return true;
}
