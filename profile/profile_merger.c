#include "profile/profile_merger.h"

#include "profile/function_tree.h"
#include "profile/merge_result.h"
#include "profile/merge_tables.h"

/* What one stack has in parts that are scaled alike: scaled once, when all is added. */
struct share {
	int64_t numerator;
	int64_t denominator;
	int64_t value;
	uint32_t stack;
};

struct profile_merger {
	struct merge_tables tables;
	struct intern share_ids;
	struct share *shares;
	size_t share_count;
	size_t share_capacity;
	struct profile_line *lines; /* of the location in hand */
	size_t line_capacity;
	void *scratch; /* for one window at a time; kept, since they come one after another */
	size_t scratch_size;
};

int profile_merger_new(struct arena *arena, struct profile_merger **out, struct error *err)
{
	struct profile_merger *merger = arena_alloc(arena, sizeof(*merger));

	if (!merger || !merge_tables_init(&merger->tables, arena))
		return arena_error(arena, err);
	*out = merger;
	return 0;
}

/*
 * What is known of one window's ids: the merged id + 1, or 0 while it was not asked. A
 * stack is STACK_ASKED from when it is known to be needed until its parent has its merged
 * id.
 */
struct window {
	const struct symbols *symbols;
	uint32_t *strings;
	uint32_t *functions;
	uint32_t *mappings; /* two each: not exact, exact */
	uint32_t *locations;
	uint32_t *stacks;
};

#define STACK_ASKED UINT32_MAX

static bool take_window(struct profile_merger *merger, const struct symbols *symbols,
                        struct window *out)
{
	const size_t count = (size_t)symbols->string_count + symbols->function_count +
	                     2 * (size_t)symbols->mapping_count + symbols->location_count +
	                     symbols->stack_count;
	uint32_t *ids = merger->scratch;

	if (count * sizeof(*ids) > merger->scratch_size) {
		ids = arena_array_raw(merger->tables.arena, count, sizeof(*ids));
		if (!ids)
			return false;
		merger->scratch = ids;
		merger->scratch_size = count * sizeof(*ids);
	}
	memset(ids, 0, count * sizeof(*ids));
	out->symbols = symbols;
	out->strings = ids;
	out->functions = out->strings + symbols->string_count;
	out->mappings = out->functions + symbols->function_count;
	out->locations = out->mappings + 2 * (size_t)symbols->mapping_count;
	out->stacks = out->locations + symbols->location_count;
	return true;
}

static uint32_t string_of(struct merge_tables *tables, struct window *window, uint32_t id)
{
	if (!window->strings[id])
		window->strings[id] =
			merge_tables_string(tables, symbols_string(window->symbols, id)) + 1;
	return window->strings[id] - 1;
}

static uint32_t function_of(struct merge_tables *tables, struct window *window, uint32_t id)
{
	const struct symbol_function *from = SYMBOLS_AT(window->symbols->functions, id);
	struct profile_function function;

	if (window->functions[id])
		return window->functions[id] - 1;
	function = (struct profile_function){
		.name = string_of(tables, window, from->name),
		.system_name = string_of(tables, window, from->system_name),
		.file = string_of(tables, window, from->file),
		.start_line = from->start_line,
	};
	if (function.name == MERGE_FULL || function.system_name == MERGE_FULL ||
	    function.file == MERGE_FULL)
		return MERGE_FULL;
	window->functions[id] = merge_tables_function(tables, &function) + 1;
	return window->functions[id] - 1;
}

static uint32_t mapping_of(struct merge_tables *tables, struct window *window, uint32_t id,
                           bool is_exact)
{
	const struct symbol_mapping *from = SYMBOLS_AT(window->symbols->mappings, id);
	uint32_t *known = &window->mappings[2 * (size_t)id + (is_exact ? 1 : 0)];
	struct profile_mapping mapping;

	if (*known)
		return *known - 1;
	mapping = (struct profile_mapping){
		.start = from->start,
		.limit = from->limit,
		.offset = from->offset,
		.file = string_of(tables, window, from->file),
		.build_id = string_of(tables, window, from->build_id),
		.flags = from->flags,
	};
	if (mapping.file == MERGE_FULL || mapping.build_id == MERGE_FULL)
		return MERGE_FULL;
	*known = merge_tables_mapping(tables, &mapping, is_exact) + 1;
	return *known - 1;
}

static uint32_t location_of(struct profile_merger *merger, struct window *window, uint32_t id)
{
	const struct symbol_location *from = SYMBOLS_AT(window->symbols->locations, id);
	struct merge_tables *tables = &merger->tables;
	struct profile_location location = {
		.address = from->address,
		.mapping = PROFILE_NONE,
		.line_count = from->line_count,
	};

	if (window->locations[id])
		return window->locations[id] - 1;
	if (from->mapping != PROFILE_NONE) {
		location.mapping = mapping_of(tables, window, from->mapping, from->line_count == 0);
		if (location.mapping == MERGE_FULL)
			return MERGE_FULL;
	}
	for (uint32_t i = 0; i < from->line_count; i++) {
		const struct symbol_line *line =
			SYMBOLS_AT(window->symbols->lines, from->first_line + i);
		const uint32_t function = function_of(tables, window, line->function);

		if (function == MERGE_FULL ||
		    !ARENA_GROW(tables->arena, merger->lines, i, merger->line_capacity))
			return MERGE_FULL;
		merger->lines[i] = (struct profile_line){ function, line->line };
	}
	window->locations[id] = merge_tables_location(tables, &location, merger->lines) + 1;
	return window->locations[id] - 1;
}

static void ask_stack(struct window *window, uint32_t stack)
{
	while (stack != 0 && window->stacks[stack] == 0) {
		window->stacks[stack] = STACK_ASKED;
		stack = SYMBOLS_AT(window->symbols->stacks, stack)->parent;
	}
}

/* Gives all stacks that were asked their merged ids, parents first. */
static bool merge_stacks(struct profile_merger *merger, struct window *window)
{
	window->stacks[0] = 1;
	for (uint32_t i = 1; i < window->symbols->stack_count; i++) {
		const struct symbol_stack *stack = SYMBOLS_AT(window->symbols->stacks, i);
		uint32_t location;
		uint32_t merged;

		if (window->stacks[i] != STACK_ASKED)
			continue;
		location = location_of(merger, window, stack->location);
		if (location == MERGE_FULL)
			return false;
		merged = merge_tables_stack(&merger->tables, window->stacks[stack->parent] - 1,
		                            location);
		if (merged == MERGE_FULL)
			return false;
		window->stacks[i] = merged + 1;
	}
	return true;
}

static int64_t sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Adds to the stack itself, or to its share. False: the arena is full. */
static bool add_value(struct profile_merger *merger, const struct share *added)
{
	struct merged_stack *stack = &merger->tables.stacks[added->stack];
	const struct {
		int64_t numerator;
		int64_t denominator;
		uint64_t stack;
	} key = { added->numerator, added->denominator, added->stack };
	struct arena *arena = merger->tables.arena;
	bool is_new;
	uint32_t id;

	if (added->numerator == added->denominator) {
		stack->value = sum(stack->value, added->value);
		return true;
	}
	if (!ARENA_GROW(arena, merger->shares, merger->share_count, merger->share_capacity))
		return false;
	id = intern_add(&merger->share_ids, arena,
	                hash128(merger->tables.secret, &key, sizeof(key)), &is_new);
	if (id == INTERN_NONE)
		return false;
	if (is_new)
		merger->shares[merger->share_count++] = *added;
	else
		merger->shares[id].value = sum(merger->shares[id].value, added->value);
	return true;
}

/* Every share to its stack; what is below 1 is left out. */
static void scale_shares(struct profile_merger *merger)
{
	for (size_t i = 0; i < merger->share_count; i++) {
		const struct share *share = &merger->shares[i];
		struct merged_stack *stack = &merger->tables.stacks[share->stack];
		const int64_t value =
			function_tree_scale(share->value, share->numerator, share->denominator);

		if (value > 0)
			stack->value = sum(stack->value, value);
	}
	merger->share_count = 0;
}

int profile_merger_add_sums(struct profile_merger *merger, const struct stack_sums *sums,
                            int64_t numerator, int64_t denominator, struct error *err)
{
	struct merge_tables *tables = &merger->tables;
	struct window window;

	if (!take_window(merger, sums->symbols, &window))
		return arena_error(tables->arena, err);
	for (size_t i = 0; i < sums->count; i++)
		if (sums->sums[i] > 0)
			ask_stack(&window, sums->stacks[i]);
	if (!merge_stacks(merger, &window))
		return arena_error(tables->arena, err);
	for (size_t i = 0; i < sums->count; i++) {
		const struct share added = { numerator, denominator, sums->sums[i],
			                     window.stacks[sums->stacks[i]] - 1 };

		if (added.value > 0 && sums->stacks[i] != 0 && !add_value(merger, &added))
			return arena_error(tables->arena, err);
	}
	return 0;
}

int profile_merger_finish(struct profile_merger *merger,
                          const struct profile_merge_options *options, struct profile *out,
                          struct error *err)
{
	struct merge_tables *tables = &merger->tables;

	scale_shares(merger);
	if (options->go_pgo && merge_result_keep_leaves(tables, options->go_pgo, err) < 0)
		return -1;
	if (!options->go_pgo && options->max_nodes > 0 &&
	    merge_result_cut(tables, options->max_nodes, err) < 0)
		return -1;
	return merge_result_write(tables, options, out, err);
}
