/*
 * Runs the instructions of an entry of .eh_frame up to an address: the row that is in
 * force there.
 *
 * Errors   none: false for instructions that are cut, unknown, or nest too deep.
 * Threads  any.
 * Source   DWARF 5, 6.4.2
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/elf/frame_entry.h"
#include "collector/elf/unwind_row.h"

#define CALL_FRAME_STATES_MAX 16 /* remembered at once; compilers nest one or two */

bool call_frame_row(const struct frame_entry *entry, uint64_t address, struct unwind_row *out);
