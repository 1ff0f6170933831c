/*
 * How the registers of a caller come out of those of its callee, at one address of a file.
 *
 * Shape    plain values, for every register one rule and its number. Expressions stay in
 *          the file: their number is the offset in .eh_frame of the length in front of them.
 * Units    bytes. CFA: the stack pointer before the call that made the frame.
 * Source   DWARF 5, 6.4; unwinding specification 6.4
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/elf/architecture.h"

enum register_rule {
	RULE_SAME = 0,         /* the callee left it alone */
	RULE_UNDEFINED,        /* lost; for the return address: the outermost frame */
	RULE_OFFSET,           /* saved at CFA + number */
	RULE_VALUE_OFFSET,     /* is CFA + number */
	RULE_REGISTER,         /* is in register `number` */
	RULE_EXPRESSION,       /* saved where an expression says */
	RULE_VALUE_EXPRESSION, /* is what an expression says */
};

struct unwind_row {
	uint8_t cfa_is_expression; /* then cfa_number is its place */
	uint8_t cfa_register;
	uint8_t is_signal;             /* the kernel made this frame: its caller was interrupted */
	uint32_t changed;              /* a bit for each register whose rule is not RULE_SAME */
	uint8_t rules[REGISTER_COUNT]; /* of enum register_rule */
	int32_t cfa_number;
	int32_t numbers[REGISTER_COUNT];
};
