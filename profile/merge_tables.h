/*
 * The tables of a merged profile: strings, functions, mappings, locations and stacks,
 * each thing once by its content.
 *
 * Shape    ids count from 0; string 0 is "", stack 0 the root. Parents of stacks have
 *          smaller ids. Equal keyed hashes of 128 bits count as equal things.
 * Errors   MERGE_FULL when the arena is full.
 * Threads  none.
 * Source   read specification, 3.10
 */
#pragma once

#include "profile/intern.h"
#include "profile/profile.h"

#define MERGE_FULL UINT32_MAX

struct merged_stack {
	uint32_t parent;
	uint32_t location;
	int64_t value; /* of exactly this stack */
};

struct merge_tables {
	struct arena *arena;
	uint64_t secret;
	struct intern string_ids;
	struct intern function_ids;
	struct intern mapping_ids;
	struct intern location_ids;
	struct intern stack_ids; /* id + 1 */

	struct str *strings;
	struct profile_function *functions;
	struct profile_mapping *mappings;
	struct profile_location *locations;
	struct profile_line *lines;
	struct merged_stack *stacks;
	size_t string_count;
	size_t function_count;
	size_t mapping_count;
	size_t location_count;
	size_t line_count;
	size_t stack_count;
	size_t string_capacity;
	size_t function_capacity;
	size_t mapping_capacity;
	size_t location_capacity;
	size_t line_capacity;
	size_t stack_capacity;
};

/* False when the arena is full. */
bool merge_tables_init(struct merge_tables *tables, struct arena *arena);

/* The bytes are copied. */
uint32_t merge_tables_string(struct merge_tables *tables, struct str text);
uint32_t merge_tables_function(struct merge_tables *tables,
                               const struct profile_function *function);

/* is_exact: its start counts, too. */
uint32_t merge_tables_mapping(struct merge_tables *tables, const struct profile_mapping *mapping,
                              bool is_exact);

/* `location` with these lines (its first_line does not count). */
uint32_t merge_tables_location(struct merge_tables *tables, const struct profile_location *location,
                               const struct profile_line *lines);
uint32_t merge_tables_stack(struct merge_tables *tables, uint32_t parent, uint32_t location);
