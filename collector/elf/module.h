/*
 * One file of code, shared by all processes that map it: segments, exports, symbols, unwind
 * rows.
 *
 * Shape    made and kept by a module_cache. Its descriptor stays open as long as it lives,
 *          so that stacks of a process that has ended still get their names. Headers are
 *          read at once, symbols when the first name is asked for.
 * Units    addresses are the file's own (ELF addresses), offsets count from its first byte.
 * Errors   a file that lies (tables that end outside, or are out of order) has no rows, no
 *          exports or no symbols; nothing is read twice for it, and module_trouble() says
 *          what is wrong.
 * Threads  none: the collector's.
 * Source   unwinding specification 1.1, 6.4; collector specification 5
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "collector/elf/elf_image.h"
#include "collector/elf/unwind_row.h"

struct module;

struct module *module_ref(struct module *module);

/* Without a reference it stays in its cache until newer ones need the place. NULL is fine. */
void module_unref(struct module *module);

/* Tells modules apart: from 1, never used again. */
uint32_t module_number(const struct module *module);

/* As the first process that mapped it saw it; ends with NUL. */
struct str module_path(const struct module *module);

/* Behind the last slash. */
struct str module_base_name(const struct module *module);

/* In hex; empty when the file has none. */
struct str module_build_id(const struct module *module);

const struct elf_image *module_image(const struct module *module);

/* The separate file with its symbols, or NULL. */
const struct elf_image *module_debug_image(const struct module *module);

/* What a mapping adds to the file's addresses; false when no segment is there. */
bool module_bias(const struct module *module, uint64_t start, uint64_t offset, uint64_t *out_bias);

/* The address that the file exports under `name`. */
bool module_export(const struct module *module, const char *name, uint64_t *out_address);

bool module_section(const struct module *module, const char *name, struct elf_section *out);

/* Where in the file an address lies: for probes. */
bool module_offset(const struct module *module, uint64_t address, uint64_t *out_offset);

/* Initialised data as the file has it; returns how many of the `length` bytes there are. */
size_t module_read(const struct module *module, uint64_t address, void *to, size_t length);

/* The row in force at an address, or NULL. Valid until the next call. */
const struct unwind_row *module_row(struct module *module, uint64_t address);

/* The bytes of an expression that a row refers to; 0 when there are not as many. */
size_t module_expression(const struct module *module, int32_t place, uint8_t *to, size_t capacity);

/*
 * The name in the file of the function that covers an address, in `to` (of at least
 * SYMBOL_NAME_MAX + 1 bytes); empty when none does. *out_start gets its first address.
 */
struct str module_symbol(struct module *module, uint64_t address, char *to, uint64_t *out_start);

/* What was wrong with its symbols, as a sentence; empty: nothing, or not asked for yet. */
const char *module_trouble(const struct module *module);
