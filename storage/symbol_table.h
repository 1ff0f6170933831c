/*
 * The symbols of one window in memory: strings, functions, mappings, locations and the
 * tree of stacks.
 *
 * Shape    columns that only grow (profile/column.h); references point to what is there
 *          already. String 0 is "" and stack 0 the root: they are there from the start
 *          and stand in no page.
 * Threads  one adds and publishes; any may take views, which hold what was published
 *          before. The owner frees it when no view is in use.
 * Source   profile/symbols.h
 *
 * Invariants:
 *   1. every id in an entry is smaller than the count of what it refers to;
 *   2. a parent has a smaller id than its child;
 *   3. lines of a location are consecutive and belong to it alone.
 */
#pragma once

#include "base/arena.h"
#include "profile/column.h"
#include "profile/symbols.h"

/*
 * In the order in which they may refer back: each kind refers to earlier ones (and to
 * itself).
 */
enum symbol_kind {
	SYMBOL_STRING,
	SYMBOL_FUNCTION,
	SYMBOL_MAPPING,
	SYMBOL_LINE,
	SYMBOL_LOCATION,
	SYMBOL_STACK,
	SYMBOL_KIND_COUNT
};

#define SYMBOL_COUNT_MAX (UINT32_C(1) << 30) /* of a kind in a window; ids fit 31 bits */

struct symbol_table {
	struct column columns[SYMBOL_KIND_COUNT];
	uint32_t counts[SYMBOL_KIND_COUNT]; /* of the thread that adds */
	_Atomic uint32_t published[SYMBOL_KIND_COUNT];
	struct arena *bytes; /* of strings */
};

struct symbol_table *symbol_table_new(void) __attribute__((returns_nonnull));
void symbol_table_free(struct symbol_table *table);
DEFINE_FREEP(symbol_table)

/* Each returns the id of the new entry. Bytes of strings are copied. */
uint32_t symbol_table_add_string(struct symbol_table *table, struct str string);
uint32_t symbol_table_add_function(struct symbol_table *table,
                                   const struct symbol_function *function);
uint32_t symbol_table_add_mapping(struct symbol_table *table, const struct symbol_mapping *mapping);
uint32_t symbol_table_add_location(struct symbol_table *table, uint32_t mapping, uint64_t address,
                                   const struct symbol_line *lines, uint32_t line_count);
uint32_t symbol_table_add_stack(struct symbol_table *table, uint32_t parent, uint32_t location);

/* What was added becomes visible to views that are taken from now on. */
void symbol_table_publish(struct symbol_table *table);

void symbol_table_view(const struct symbol_table *table, struct symbols *out);

/* Stacks that are published: every id in a committed row is below it. */
uint32_t symbol_table_stack_count(const struct symbol_table *table);

/* Memory that the entries take. For the thread that adds, or when nobody adds. */
size_t symbol_table_bytes(const struct symbol_table *table);

/* Entries that are there, for the thread that adds. */
static inline const struct str *symbol_table_string(const struct symbol_table *table, uint32_t id)
{
	return COLUMN_AT(&table->columns[SYMBOL_STRING], struct str, id);
}

static inline const struct symbol_function *symbol_table_function(const struct symbol_table *table,
                                                                  uint32_t id)
{
	return COLUMN_AT(&table->columns[SYMBOL_FUNCTION], struct symbol_function, id);
}

static inline const struct symbol_mapping *symbol_table_mapping(const struct symbol_table *table,
                                                                uint32_t id)
{
	return COLUMN_AT(&table->columns[SYMBOL_MAPPING], struct symbol_mapping, id);
}

static inline const struct symbol_line *symbol_table_line(const struct symbol_table *table,
                                                          uint32_t id)
{
	return COLUMN_AT(&table->columns[SYMBOL_LINE], struct symbol_line, id);
}

static inline const struct symbol_location *symbol_table_location(const struct symbol_table *table,
                                                                  uint32_t id)
{
	return COLUMN_AT(&table->columns[SYMBOL_LOCATION], struct symbol_location, id);
}

static inline const struct symbol_stack *symbol_table_stack(const struct symbol_table *table,
                                                            uint32_t id)
{
	return COLUMN_AT(&table->columns[SYMBOL_STACK], struct symbol_stack, id);
}
