/*
 * A code object as people know it: what it is called, where it is written, its lines.
 *
 * Shape    made of a definition, one block of memory. A type is one too: a name alone. To 3.10
 *          a function is not told its class; named_code_method() joins the two names, once for
 *          each class.
 * Units    bytes; lines from 1.
 * Threads  none.
 * Source   unwinding specification 4, 5.2
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "collector/cuda_event.h"
#include "collector/python/code_reader.h"

#define PYTHON_UNKNOWN_NAME "<unknown python function>"
#define PYTHON_UNKNOWN_FILE "<python>"

struct named_code;

/* `serial` is another one for each. */
struct named_code *named_code_new(const struct code_definition *definition, uint64_t serial)
	__attribute__((returns_nonnull));

/* One that nobody could define. */
struct named_code *named_code_new_unknown(uint64_t serial) __attribute__((returns_nonnull));

void named_code_free(struct named_code *code);

/* Whether the definition would make the same. */
bool named_code_is(const struct named_code *code, const struct code_definition *definition);

bool named_code_is_unknown(const struct named_code *code);
struct str named_code_name(const struct named_code *code);
struct str named_code_file(const struct named_code *code);
uint32_t named_code_version(const struct named_code *code);
uint32_t named_code_first_line(const struct named_code *code);

/* Class.function */
struct str named_code_method(struct named_code *code, const struct named_code *type);

/*
 * The line at a position, or 0. Where the table was cut, the whole is read from the process,
 * once, when `memory` and `python` are given.
 */
int64_t named_code_line(struct named_code *code, int32_t position,
                        const struct python_memory *memory,
                        const struct python_description *python);

/* What it takes; grows with lines and methods that were asked for. */
size_t named_code_bytes(const struct named_code *code);
