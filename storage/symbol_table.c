#include "storage/symbol_table.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

static const size_t entry_sizes[SYMBOL_KIND_COUNT] = {
	[SYMBOL_STRING] = sizeof(struct str),
	[SYMBOL_FUNCTION] = sizeof(struct symbol_function),
	[SYMBOL_MAPPING] = sizeof(struct symbol_mapping),
	[SYMBOL_LINE] = sizeof(struct symbol_line),
	[SYMBOL_LOCATION] = sizeof(struct symbol_location),
	[SYMBOL_STACK] = sizeof(struct symbol_stack),
};

/* The place of the next entry, which now counts. */
static void *next(struct symbol_table *table, enum symbol_kind kind)
{
	return column_add(&table->columns[kind], table->counts[kind]++);
}

struct symbol_table *symbol_table_new(void)
{
	struct symbol_table *table = mem_zalloc(1, sizeof(*table));

	for (int kind = 0; kind < SYMBOL_KIND_COUNT; kind++)
		column_init(&table->columns[kind], entry_sizes[kind]);
	table->bytes = arena_new(SIZE_MAX, NULL);
	*(struct str *)next(table, SYMBOL_STRING) = STR("");
	(void)next(table, SYMBOL_STACK); /* the root: zeros */
	symbol_table_publish(table);
	return table;
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	for (int kind = 0; kind < SYMBOL_KIND_COUNT; kind++)
		column_fini(&table->columns[kind]);
	arena_free(table->bytes);
	free(table);
}

uint32_t symbol_table_add_string(struct symbol_table *table, struct str string)
{
	const struct str copy = arena_copy(table->bytes, string);

	if (!copy.data) {
		(void)fputs("vramscope: out of memory\n", stderr);
		abort();
	}
	*(struct str *)next(table, SYMBOL_STRING) = copy;
	return table->counts[SYMBOL_STRING] - 1;
}

uint32_t symbol_table_add_function(struct symbol_table *table,
                                   const struct symbol_function *function)
{
	assert(function->name < table->counts[SYMBOL_STRING] &&
	       function->system_name < table->counts[SYMBOL_STRING] &&
	       function->file < table->counts[SYMBOL_STRING]);
	*(struct symbol_function *)next(table, SYMBOL_FUNCTION) = *function;
	return table->counts[SYMBOL_FUNCTION] - 1;
}

uint32_t symbol_table_add_mapping(struct symbol_table *table, const struct symbol_mapping *mapping)
{
	assert(mapping->file < table->counts[SYMBOL_STRING] &&
	       mapping->build_id < table->counts[SYMBOL_STRING]);
	*(struct symbol_mapping *)next(table, SYMBOL_MAPPING) = *mapping;
	return table->counts[SYMBOL_MAPPING] - 1;
}

uint32_t symbol_table_add_location(struct symbol_table *table, uint32_t mapping, uint64_t address,
                                   const struct symbol_line *lines, uint32_t line_count)
{
	struct symbol_location *location = next(table, SYMBOL_LOCATION);

	assert(mapping == PROFILE_NONE || mapping < table->counts[SYMBOL_MAPPING]);
	*location = (struct symbol_location){
		.address = address,
		.mapping = mapping,
		.first_line = table->counts[SYMBOL_LINE],
		.line_count = line_count,
	};
	for (uint32_t i = 0; i < line_count; i++) {
		assert(lines[i].function < table->counts[SYMBOL_FUNCTION]);
		*(struct symbol_line *)next(table, SYMBOL_LINE) = lines[i];
	}
	return table->counts[SYMBOL_LOCATION] - 1;
}

uint32_t symbol_table_add_stack(struct symbol_table *table, uint32_t parent, uint32_t location)
{
	struct symbol_stack *stack;

	assert(parent < table->counts[SYMBOL_STACK] && location < table->counts[SYMBOL_LOCATION]);
	stack = next(table, SYMBOL_STACK);
	stack->parent = parent;
	stack->location = location;
	return table->counts[SYMBOL_STACK] - 1;
}

/*
 * Referents are published before what refers to them and read after it, so that a view
 * never holds an id that is not in it.
 */
void symbol_table_publish(struct symbol_table *table)
{
	for (int kind = 0; kind < SYMBOL_KIND_COUNT; kind++)
		atomic_store_explicit(&table->published[kind], table->counts[kind],
		                      memory_order_release);
}

void symbol_table_view(const struct symbol_table *table, struct symbols *out)
{
	uint32_t counts[SYMBOL_KIND_COUNT];

	for (int kind = SYMBOL_KIND_COUNT - 1; kind >= 0; kind--)
		counts[kind] = atomic_load_explicit(&table->published[kind], memory_order_acquire);
	*out = (struct symbols){
		.strings = column_chunks(&table->columns[SYMBOL_STRING]),
		.functions = column_chunks(&table->columns[SYMBOL_FUNCTION]),
		.mappings = column_chunks(&table->columns[SYMBOL_MAPPING]),
		.locations = column_chunks(&table->columns[SYMBOL_LOCATION]),
		.lines = column_chunks(&table->columns[SYMBOL_LINE]),
		.stacks = column_chunks(&table->columns[SYMBOL_STACK]),
		.string_count = counts[SYMBOL_STRING],
		.function_count = counts[SYMBOL_FUNCTION],
		.mapping_count = counts[SYMBOL_MAPPING],
		.location_count = counts[SYMBOL_LOCATION],
		.line_count = counts[SYMBOL_LINE],
		.stack_count = counts[SYMBOL_STACK],
	};
}

uint32_t symbol_table_stack_count(const struct symbol_table *table)
{
	return atomic_load_explicit(&table->published[SYMBOL_STACK], memory_order_acquire);
}

size_t symbol_table_bytes(const struct symbol_table *table)
{
	size_t bytes = sizeof(*table) + arena_used(table->bytes);

	for (int kind = 0; kind < SYMBOL_KIND_COUNT; kind++)
		bytes += column_bytes(&table->columns[kind], table->counts[kind]);
	return bytes;
}
