/*
 * The symbols of one window as a reader sees them: what stack ids mean.
 *
 * Shape    columns by id, in chunks of SYMBOLS_CHUNK entries that never move, so that a
 *          writer can append while readers read what was published before. Stacks are
 *          nodes of a tree over locations: a parent has a smaller id than its children
 *          and id 0 is the root (no frame). The frames of a location are its lines; one
 *          without lines is a frame of its own, named by its address.
 * Threads  any, for ids below the counts that the reader was given.
 * Source   docs/formats/store.md
 */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "profile/profile.h"

#define SYMBOLS_CHUNK_BITS 14
#define SYMBOLS_CHUNK      (UINT32_C(1) << SYMBOLS_CHUNK_BITS)

struct symbol_function {
	uint32_t name; /* string id */
	uint32_t system_name;
	uint32_t file;
	uint32_t kind; /* enum function_kind */
	int64_t start_line;
};

struct symbol_mapping {
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
	uint32_t file; /* string id */
	uint32_t build_id;
	uint32_t flags; /* of profile_mapping_flag */
	uint32_t reserved;
};

struct symbol_location {
	uint64_t address;
	uint32_t mapping;    /* id, or PROFILE_NONE */
	uint32_t first_line; /* id of its first line; they are consecutive, innermost first */
	uint32_t line_count;
	uint32_t reserved;
};

struct symbol_line {
	int64_t line;
	uint32_t function; /* id */
	uint32_t reserved;
};

struct symbol_stack {
	uint32_t parent;
	uint32_t location;
};

/*
 * Each column: chunk pointers; entry i is
 * chunks[i >> SYMBOLS_CHUNK_BITS][i & (SYMBOLS_CHUNK - 1)].
 */
struct symbols {
	struct str *const *strings;
	struct symbol_function *const *functions;
	struct symbol_mapping *const *mappings;
	struct symbol_location *const *locations;
	struct symbol_line *const *lines;
	struct symbol_stack *const *stacks;

	uint32_t string_count;
	uint32_t function_count;
	uint32_t mapping_count;
	uint32_t location_count;
	uint32_t line_count;
	uint32_t stack_count; /* the root included */
};

#define SYMBOLS_AT(column, id) (&(column)[(id) >> SYMBOLS_CHUNK_BITS][(id) & (SYMBOLS_CHUNK - 1)])

static inline struct str symbols_string(const struct symbols *symbols, uint32_t id)
{
	return *SYMBOLS_AT(symbols->strings, id);
}

/*
 * What a merge hands over, once for each window and part: sums over stacks. Ids are
 * ascending, each once, sums are never 0; stack 0 (values without a stack) is left out.
 */
struct stack_sums {
	const struct symbols *symbols;
	uint32_t part; /* of the query's parts; 0 when it has none */
	const uint32_t *stacks;
	const int64_t *sums;
	size_t count;
};
