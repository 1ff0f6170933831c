/*
 * A window's symbols made by hand, for tests of what reads them.
 *
 * Shape    one chunk a column; stacks are interned by (parent, location).
 */
#pragma once

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "profile/symbols.h"

#define FIXTURE_MAX 512 /* entries a column */

struct symbols_fixture {
	struct symbols symbols;
	struct str strings[FIXTURE_MAX];
	struct symbol_function functions[FIXTURE_MAX];
	struct symbol_mapping mappings[FIXTURE_MAX];
	struct symbol_location locations[FIXTURE_MAX];
	struct symbol_line lines[FIXTURE_MAX];
	struct symbol_stack stacks[FIXTURE_MAX];
	struct str *chunks_of_strings[1];
	struct symbol_function *chunks_of_functions[1];
	struct symbol_mapping *chunks_of_mappings[1];
	struct symbol_location *chunks_of_locations[1];
	struct symbol_line *chunks_of_lines[1];
	struct symbol_stack *chunks_of_stacks[1];
};

static inline uint32_t fixture_string(struct symbols_fixture *f, struct str text)
{
	for (uint32_t i = 0; i < f->symbols.string_count; i++)
		if (str_equal(f->strings[i], text))
			return i;
	assert(f->symbols.string_count < FIXTURE_MAX);
	f->strings[f->symbols.string_count] = text;
	return f->symbols.string_count++;
}

static inline struct symbols_fixture *fixture_new(void)
{
	struct symbols_fixture *f = mem_zalloc(1, sizeof(*f));

	f->chunks_of_strings[0] = f->strings;
	f->chunks_of_functions[0] = f->functions;
	f->chunks_of_mappings[0] = f->mappings;
	f->chunks_of_locations[0] = f->locations;
	f->chunks_of_lines[0] = f->lines;
	f->chunks_of_stacks[0] = f->stacks;
	f->symbols = (struct symbols){
		.strings = f->chunks_of_strings,
		.functions = f->chunks_of_functions,
		.mappings = f->chunks_of_mappings,
		.locations = f->chunks_of_locations,
		.lines = f->chunks_of_lines,
		.stacks = f->chunks_of_stacks,
		.stack_count = 1,
	};
	fixture_string(f, STR(""));
	return f;
}

static inline void symbols_fixture_free(struct symbols_fixture *f)
{
	free(f);
}
DEFINE_FREEP(symbols_fixture)

static inline uint32_t fixture_function(struct symbols_fixture *f, struct str name,
                                        const char *file)
{
	const uint32_t name_id = fixture_string(f, name);
	const uint32_t file_id = fixture_string(f, str_of(file));

	for (uint32_t i = 0; i < f->symbols.function_count; i++)
		if (f->functions[i].name == name_id && f->functions[i].file == file_id)
			return i;
	assert(f->symbols.function_count < FIXTURE_MAX);
	f->functions[f->symbols.function_count] = (struct symbol_function){ .name = name_id,
		                                                            .system_name = name_id,
		                                                            .file = file_id };
	return f->symbols.function_count++;
}

static inline uint32_t fixture_mapping(struct symbols_fixture *f, uint64_t start, uint64_t limit,
                                       const char *file, const char *build_id)
{
	assert(f->symbols.mapping_count < FIXTURE_MAX);
	f->mappings[f->symbols.mapping_count] = (struct symbol_mapping){
		.start = start,
		.limit = limit,
		.file = fixture_string(f, str_of(file)),
		.build_id = fixture_string(f, str_of(build_id)),
	};
	return f->symbols.mapping_count++;
}

/* Lines, innermost first; none: a bare location. */
static inline uint32_t fixture_location(struct symbols_fixture *f, uint32_t mapping,
                                        uint64_t address, const struct symbol_line *lines,
                                        uint32_t line_count)
{
	assert(f->symbols.location_count < FIXTURE_MAX);
	f->locations[f->symbols.location_count] = (struct symbol_location){
		.address = address,
		.mapping = mapping,
		.first_line = f->symbols.line_count,
		.line_count = line_count,
	};
	for (uint32_t i = 0; i < line_count; i++)
		f->lines[f->symbols.line_count++] = lines[i];
	return f->symbols.location_count++;
}

static inline uint32_t fixture_stack(struct symbols_fixture *f, uint32_t parent, uint32_t location)
{
	uint32_t i;

	for (i = 1; i < f->symbols.stack_count; i++)
		if (f->stacks[i].parent == parent && f->stacks[i].location == location)
			return i;
	assert(i < FIXTURE_MAX);
	f->stacks[i] = (struct symbol_stack){ parent, location };
	return f->symbols.stack_count++;
}

/*
 * The stack of "main;work;compute": one location a function, without mapping or
 * address.
 */
static inline uint32_t fixture_path(struct symbols_fixture *f, const char *path)
{
	struct str rest = str_of(path);
	struct str name;
	uint32_t stack = 0;

	while (str_split(&rest, ';', &name)) {
		const uint32_t function = fixture_function(f, name, "");
		uint32_t location = 0;

		while (location < f->symbols.location_count &&
		       !(f->locations[location].line_count == 1 &&
		         f->locations[location].mapping == PROFILE_NONE &&
		         f->lines[f->locations[location].first_line].function == function))
			location++;
		if (location == f->symbols.location_count)
			fixture_location(f, PROFILE_NONE, 0,
			                 &(struct symbol_line){ .function = function }, 1);
		stack = fixture_stack(f, stack, location);
	}
	return stack;
}
