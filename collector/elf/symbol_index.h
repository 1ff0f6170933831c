/*
 * From an address to the function that covers it.
 *
 * Shape    16 bytes a function, sorted by address; names stay where they are and are read
 *          when they are asked for: a library of a million functions takes 16 MB here, its
 *          names would take 150. Only definitions with a size count: what lies behind a
 *          function's last byte has no name.
 * Units    addresses are the file's own.
 * Errors   symbol_index_add(): ERROR_TOO_LARGE past SYMBOLS_MAX, ERROR_CORRUPT for a table
 *          that cannot be read.
 * Threads  none.
 * Source   collector specification 5
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "collector/elf/elf_image.h"

#define SYMBOLS_MAX        ((size_t)4 << 20) /* functions of a file: 64 MiB */
#define SYMBOL_SOURCES_MAX 4
#define SYMBOL_NAME_MAX    4096 /* bytes of a name that are read */

struct symbol {
	uint32_t start; /* behind the table's base */
	uint32_t size;
	uint32_t name; /* offset in its source's names */
	uint8_t source;
	uint8_t binding; /* 2 global, 1 weak, 0 local */
	uint16_t reserved;
};

struct symbol_source {
	const struct code_bytes *bytes;
	struct elf_section names;
};

struct symbol_index {
	uint64_t base;
	struct symbol *symbols;
	size_t count;
	size_t source_count;
	struct symbol_source sources[SYMBOL_SOURCES_MAX];
};

/* Addresses will be counted from `base`; those past 4 GiB behind it have no name. */
void symbol_index_init(struct symbol_index *table, uint64_t base);
void symbol_index_fini(struct symbol_index *table);

/* Takes the functions of one table of a file, whose bytes must stay there. */
int symbol_index_add(struct symbol_index *table, const struct code_bytes *bytes,
                     const struct elf_symbols *symbols, struct error *err);

/* Once, after all was added and before anything is looked up. */
void symbol_index_sort(struct symbol_index *table);

/*
 * The function that covers `address`, or NULL. Where several begin together: the name with
 * the fewest underscores in front, global before weak before local, shorter, then first in
 * byte order.
 */
const struct symbol *symbol_index_find(const struct symbol_index *table, uint64_t address);

/* Its name, cut at SYMBOL_NAME_MAX, in `to` (of SYMBOL_NAME_MAX + 1 bytes). */
struct str symbol_index_name(const struct symbol_index *table, const struct symbol *symbol,
                             char *to);

size_t symbol_index_bytes(const struct symbol_index *table);
