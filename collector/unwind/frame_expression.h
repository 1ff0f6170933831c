/*
 * Computes what an expression of .eh_frame says. Linkers write one for the entries of a PLT,
 * C libraries for the return from a signal handler, compilers for frames that are aligned.
 *
 * Shape    a stack machine. What it does not know (threads, types, other entries) fails.
 * Errors   none: false when it cannot be computed.
 * Threads  any.
 * Source   DWARF 5, 2.5; unwinding specification 6.4
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/elf/architecture.h"
#include "collector/unwind/stack_memory.h"

#define FRAME_EXPRESSION_BYTES 256  /* of one expression */
#define FRAME_EXPRESSION_DEPTH 32   /* values on its stack */
#define FRAME_EXPRESSION_STEPS 1024 /* it may jump backwards */

struct frame_expression {
	const uint8_t *bytes;
	size_t length;
	const uint64_t *registers; /* REGISTER_COUNT of them */
	const struct stack_memory *memory;
	uint64_t address; /* that `memory` had to be read at when it could not be */
};

/* `first` is what lies on the stack at the start: the CFA; NULL: nothing does. */
bool frame_expression_compute(struct frame_expression *expression, const uint64_t *first,
                              uint64_t *out);
