/*
 * A code object's definition from the memory of its process: for what the programs in the
 * kernel did not send, or sent a part of.
 *
 * Shape    what they would have sent, byte for byte; so names are the same either way.
 * Errors   false when it is not there any more, or is not what the frame said.
 * Threads  none.
 * Source   unwinding specification 5.2
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/cuda_event.h"
#include "collector/python/python_description.h"
#include "collector/python/python_memory.h"

#define LINE_TABLE_MAX 65536 /* bytes of a line table that are read */

/* Fills kind, version, object, first_line, strings and table of *out. */
bool code_reader_code(const struct python_memory *memory, const struct python_description *python,
                      const struct python_frame *frame, struct code_definition *out);

bool code_reader_type(const struct python_memory *memory, const struct python_description *python,
                      uint64_t type, struct code_definition *out);

/*
 * Up to `capacity` bytes of the line table of `code`, when it is `length` bytes long. Returns
 * how many there were.
 */
size_t code_reader_table(const struct python_memory *memory,
                         const struct python_description *python, uint64_t code, size_t length,
                         uint8_t *to, size_t capacity);
