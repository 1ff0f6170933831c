/*
 * From an instruction of a code object to its source line.
 *
 * Shape    one decoder for each form that CPython has had; nothing is allocated. The
 *          table may be cut: lines that its bytes do not reach are not known.
 * Units    positions as in struct python_frame: bytes for 3.8-3.10 (-1 before the first
 *          instruction), units of two bytes since 3.11. Lines count from 1.
 * Errors   0 is the line of what has none, lies behind the table, or is out of order.
 * Threads  any.
 * Source   unwinding specification 3.5
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* co_lnotab of 3.8 and 3.9, co_linetable since 3.10: its bytes and what they mean. */
struct line_table {
	struct str bytes;
	uint32_t version; /* of the interpreter: 0x030c for 3.12 */
	uint32_t first_line;
	size_t length; /* of the whole table, when `bytes` is the beginning of one */
};

/* The line of the instruction at `position`, or 0. */
int64_t line_table_find(const struct line_table *table, int32_t position);
