#include "collector/elf/call_frame.h"

#include <dwarf.h>

struct rules {
	uint8_t cfa_is_expression;
	uint64_t cfa_register;
	int64_t cfa_number;
	uint8_t rules[REGISTER_COUNT];
	int64_t numbers[REGISTER_COUNT];
};

struct run {
	const struct frame_entry *entry;
	uint64_t address; /* that is looked for */
	uint64_t place;   /* that the instructions have come to */
	struct rules now;
	struct rules initial; /* after the common part: what `restore` goes back to */
	struct rules remembered[CALL_FRAME_STATES_MAX];
	uint32_t remembered_count;
};

/* Rules of registers that we do not follow (vectors and flags) go nowhere. */
static void set_rule(struct run *run, uint64_t reg, enum register_rule rule, int64_t number)
{
	if (reg >= REGISTER_COUNT)
		return;
	run->now.rules[reg] = (uint8_t)rule;
	run->now.numbers[reg] = number;
}

static void restore_rule(struct run *run, uint64_t reg)
{
	if (reg < REGISTER_COUNT)
		set_rule(run, reg, run->initial.rules[reg], run->initial.numbers[reg]);
}

static int64_t factored(const struct run *run, int64_t number)
{
	return (int64_t)((uint64_t)number * (uint64_t)run->entry->data_align);
}

static void set_cfa(struct run *run, uint64_t reg, int64_t number)
{
	run->now.cfa_is_expression = 0;
	run->now.cfa_register = reg;
	run->now.cfa_number = number;
}

/* Skips an expression; returns where in .eh_frame its length stands. */
static int64_t take_expression(const struct frame_program *program, struct frame_cursor *cursor)
{
	const uint64_t place = program->offset + (uint64_t)(cursor->at - program->start);

	frame_cursor_skip(cursor, frame_cursor_uleb(cursor));
	return (int64_t)place;
}

static void set_saved(struct run *run, struct frame_cursor *cursor, uint8_t code)
{
	const uint64_t reg = frame_cursor_uleb(cursor);
	const enum register_rule rule = code == DW_CFA_val_offset || code == DW_CFA_val_offset_sf
	                                        ? RULE_VALUE_OFFSET
	                                        : RULE_OFFSET;

	if (code == DW_CFA_offset_extended_sf || code == DW_CFA_val_offset_sf)
		set_rule(run, reg, rule, factored(run, frame_cursor_sleb(cursor)));
	else
		set_rule(run, reg, rule, factored(run, (int64_t)frame_cursor_uleb(cursor)));
}

/* Instructions about registers other than the CFA's. False: not one of them. */
static bool run_register(struct run *run, const struct frame_program *program,
                         struct frame_cursor *cursor, uint8_t code)
{
	uint64_t reg;

	switch (code) {
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		set_saved(run, cursor, code);
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = frame_cursor_uleb(cursor);
		set_rule(run, reg, RULE_OFFSET,
		         factored(run, (int64_t)(0 - frame_cursor_uleb(cursor))));
		return true;
	case DW_CFA_restore_extended:
		restore_rule(run, frame_cursor_uleb(cursor));
		return true;
	case DW_CFA_undefined:
		set_rule(run, frame_cursor_uleb(cursor), RULE_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set_rule(run, frame_cursor_uleb(cursor), RULE_SAME, 0);
		return true;
	case DW_CFA_register:
		reg = frame_cursor_uleb(cursor);
		set_rule(run, reg, RULE_REGISTER, (int64_t)frame_cursor_uleb(cursor));
		return true;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		reg = frame_cursor_uleb(cursor);
		set_rule(run, reg,
		         code == DW_CFA_expression ? RULE_EXPRESSION : RULE_VALUE_EXPRESSION,
		         take_expression(program, cursor));
		return true;
	default:
		return false;
	}
}

/* Instructions about the CFA and the whole state. False: not one of them. */
static bool run_cfa(struct run *run, const struct frame_program *program,
                    struct frame_cursor *cursor, uint8_t code)
{
	uint64_t reg;

	switch (code) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_GNU_args_size:
		(void)frame_cursor_uleb(cursor);
		return true;
	case DW_CFA_remember_state:
		if (run->remembered_count == CALL_FRAME_STATES_MAX)
			return false;
		run->remembered[run->remembered_count++] = run->now;
		return true;
	case DW_CFA_restore_state:
		if (run->remembered_count == 0)
			return false;
		run->now = run->remembered[--run->remembered_count];
		return true;
	case DW_CFA_def_cfa:
		reg = frame_cursor_uleb(cursor);
		set_cfa(run, reg, (int64_t)frame_cursor_uleb(cursor));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = frame_cursor_uleb(cursor);
		set_cfa(run, reg, factored(run, frame_cursor_sleb(cursor)));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(run, frame_cursor_uleb(cursor), run->now.cfa_number);
		return true;
	case DW_CFA_def_cfa_offset:
		set_cfa(run, run->now.cfa_register, (int64_t)frame_cursor_uleb(cursor));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(run, run->now.cfa_register, factored(run, frame_cursor_sleb(cursor)));
		return true;
	case DW_CFA_def_cfa_expression:
		run->now.cfa_is_expression = 1;
		run->now.cfa_number = take_expression(program, cursor);
		return true;
	default:
		return false;
	}
}

/* Bytes of the distance that an instruction carries; 0: it is not one of these. */
static size_t advance_bytes(uint8_t code)
{
	switch (code) {
	case DW_CFA_advance_loc1:
		return 1;
	case DW_CFA_advance_loc2:
		return 2;
	case DW_CFA_advance_loc4:
		return 4;
	default:
		return 0;
	}
}

/* One instruction. False at one that cannot be run. */
static bool step(struct run *run, const struct frame_program *program, struct frame_cursor *cursor)
{
	const uint8_t code = (uint8_t)frame_cursor_fixed(cursor, 1);
	const uint8_t operand = code & 0x3f;
	const uint64_t align = run->entry->code_align;

	switch (code & 0xc0) {
	case DW_CFA_advance_loc:
		run->place += operand * align;
		return true;
	case DW_CFA_offset:
		set_rule(run, operand, RULE_OFFSET,
		         factored(run, (int64_t)frame_cursor_uleb(cursor)));
		return true;
	case DW_CFA_restore:
		restore_rule(run, operand);
		return true;
	default:
		break;
	}
	if (advance_bytes(code) > 0) {
		run->place += frame_cursor_fixed(cursor, advance_bytes(code)) * align;
		return true;
	}
	if (code == DW_CFA_set_loc) {
		/* Compilers do not write it; relative to what, nobody has said. */
		run->place = frame_cursor_encoded(cursor, run->entry->pointer_encoding);
		return (run->entry->pointer_encoding & (POINTER_BASE | POINTER_INDIRECT)) == 0;
	}
	return run_register(run, program, cursor, code) || run_cfa(run, program, cursor, code);
}

static bool run_program(struct run *run, const struct frame_program *program)
{
	struct frame_cursor cursor = frame_cursor(program->start, program->length, 0);

	while (frame_cursor_left(&cursor) > 0) {
		if (!step(run, program, &cursor) || cursor.bad)
			return false;
		if (run->place > run->address)
			break;
	}
	return true;
}

static bool fits(int64_t number)
{
	return number >= INT32_MIN && number <= INT32_MAX;
}

static bool make_row(const struct run *run, struct unwind_row *out)
{
	const struct rules *rules = &run->now;
	struct unwind_row row = {
		.cfa_is_expression = rules->cfa_is_expression,
		.is_signal = run->entry->is_signal,
	};

	if (!fits(rules->cfa_number) ||
	    (!rules->cfa_is_expression && rules->cfa_register >= REGISTER_COUNT))
		return false;
	row.cfa_register = (uint8_t)rules->cfa_register;
	row.cfa_number = (int32_t)rules->cfa_number;
	for (int i = 0; i < REGISTER_COUNT; i++) {
		if (!fits(rules->numbers[i]) ||
		    (rules->rules[i] == RULE_REGISTER && rules->numbers[i] >= REGISTER_COUNT))
			return false;
		row.rules[i] = rules->rules[i];
		row.changed |= (uint32_t)(rules->rules[i] != RULE_SAME) << i;
		row.numbers[i] = (int32_t)rules->numbers[i];
	}
	*out = row;
	return true;
}

bool call_frame_row(const struct frame_entry *entry, uint64_t address, struct unwind_row *out)
{
	struct run run;

	run.entry = entry;
	run.address = UINT64_MAX; /* the common part goes to its end */
	run.place = 0;
	run.now = (struct rules){ .cfa_register = REGISTER_COUNT };
	run.initial = run.now;
	run.remembered_count = 0;
	if (!run_program(&run, &entry->initial))
		return false;
	run.initial = run.now;
	run.address = address;
	run.place = entry->begin;
	return run_program(&run, &entry->program) && make_row(&run, out);
}
