#include "profile/call_site.h"

#include "profile/function_tree.h"
#include "profile/stack_marks.h"

struct matcher_run {
	const struct symbols *symbols;
	const struct str *names;
	size_t count;
	struct stack_marks marks; /* the stacks of the sums, and what is above them */
	uint32_t *depths;         /* by number of a marked stack: how many names its path matches */
	struct arena *arena;
};

#define DEPTH_MISMATCH UINT32_MAX /* instead of a depth */

static int bare_location_is(const struct matcher_run *run, const struct symbol_location *location,
                            struct str name)
{
	const struct symbols *symbols = run->symbols;
	struct str file = { NULL, 0 };
	struct str bare;

	if (location->mapping != PROFILE_NONE)
		file = symbols_string(symbols,
		                      SYMBOLS_AT(symbols->mappings, location->mapping)->file);
	bare = function_tree_bare_name(file, location->address, run->arena);
	return bare.data ? str_equal(bare, name) : -1;
}

static bool line_is(const struct symbols *symbols, uint32_t line, struct str name)
{
	const uint32_t function = SYMBOLS_AT(symbols->lines, line)->function;

	return str_equal(symbols_string(symbols, SYMBOLS_AT(symbols->functions, function)->name),
	                 name);
}

/* From the depth above a location to the one below it. -1: arena full. */
static int visit(const struct matcher_run *run, uint32_t id, uint32_t *depth)
{
	const struct symbol_location *location = SYMBOLS_AT(run->symbols->locations, id);
	int is_equal;

	if (*depth == DEPTH_MISMATCH || *depth == run->count)
		return 0;
	if (location->line_count == 0) {
		is_equal = bare_location_is(run, location, run->names[*depth]);
		if (is_equal < 0)
			return -1;
		*depth = is_equal ? *depth + 1 : DEPTH_MISMATCH;
		return 0;
	}
	for (uint32_t i = location->line_count; i-- > 0 && *depth < run->count;)
		*depth = line_is(run->symbols, location->first_line + i, run->names[*depth])
		                 ? *depth + 1
		                 : DEPTH_MISMATCH;
	return 0;
}

static int match(const struct matcher_run *run)
{
	const struct stack_marks *marks = &run->marks;
	uint32_t number = 0;

	for (uint32_t id = stack_marks_next(marks, 0); id; id = stack_marks_next(marks, id)) {
		const struct symbol_stack *stack = SYMBOLS_AT(run->symbols->stacks, id);
		uint32_t depth =
			stack->parent ? run->depths[stack_marks_number(marks, stack->parent)] : 0;

		if (visit(run, stack->location, &depth) < 0)
			return -1;
		run->depths[number++] = depth;
	}
	return 0;
}

int call_site_filter(const struct stack_sums *in, const struct str *names, size_t count,
                     struct arena *arena, struct stack_sums *out, struct error *err)
{
	const struct symbols *symbols = in->symbols;
	struct matcher_run run = { symbols, names, count, { .arena = arena }, NULL, arena };
	uint32_t *stacks;
	int64_t *sums;
	size_t kept = 0;

	if (count == 0) {
		*out = *in;
		return 0;
	}
	if (count >= DEPTH_MISMATCH)
		return error_set(err, ERROR_TOO_LARGE, "the call site has too many functions");
	if (stack_marks_begin(&run.marks, symbols->stack_count, err) < 0)
		return -1;
	for (size_t i = 0; i < in->count; i++)
		stack_marks_add(&run.marks, symbols, in->stacks[i]);
	run.depths = arena_array_raw(arena, stack_marks_rank(&run.marks), sizeof(*run.depths));
	stacks = arena_array_raw(arena, in->count, sizeof(*stacks));
	sums = arena_array_raw(arena, in->count, sizeof(*sums));
	if (!run.depths || !stacks || !sums || match(&run) < 0)
		return arena_error(arena, err);
	for (size_t i = 0; i < in->count; i++) {
		const uint32_t number = stack_marks_number(&run.marks, in->stacks[i]);

		if (run.depths[number] != count)
			continue;
		stacks[kept] = in->stacks[i];
		sums[kept++] = in->sums[i];
	}
	*out = (struct stack_sums){ symbols, in->part, stacks, sums, kept };
	return 0;
}
