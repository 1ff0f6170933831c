#include "server/query/gpu_stacks.h"

#define NO_WINDOW UINT32_MAX

int gpu_stacks_init(struct gpu_stacks *stacks, struct arena *arena, struct error *err)
{
	*stacks = (struct gpu_stacks){ .arena = arena, .window = NO_WINDOW };
	return function_tree_new(arena, &stacks->tree, err);
}

void gpu_stacks_begin_scan(struct gpu_stacks *stacks)
{
	stacks->window = NO_WINDOW;
}

/* The memo is of this window, and has room for this stack. */
static bool need_memo(struct gpu_stacks *stacks, uint32_t window, uint32_t stack)
{
	if (window != stacks->window) {
		if (stacks->capacity > 0)
			memset(stacks->nodes, 0, stacks->capacity * sizeof(*stacks->nodes));
		stacks->window = window;
	}
	while (stack >= stacks->capacity) {
		const size_t before = stacks->capacity;

		if (!arena_grow(stacks->arena, (void **)&stacks->nodes, sizeof(*stacks->nodes),
		                &stacks->capacity))
			return false;
		memset(stacks->nodes + before, 0,
		       (stacks->capacity - before) * sizeof(*stacks->nodes));
	}
	return true;
}

/* The node of a location without a function. */
static uint32_t bare_child(struct gpu_stacks *stacks, const struct symbols *symbols,
                           const struct symbol_location *location, uint32_t parent)
{
	struct str file = { NULL, 0 };
	struct str name;

	if (location->mapping != PROFILE_NONE)
		file = symbols_string(symbols,
		                      SYMBOLS_AT(symbols->mappings, location->mapping)->file);
	name = function_tree_bare_name(file, location->address, stacks->arena);
	return name.data ? function_tree_child(stacks->tree, parent, name) : FUNCTION_TREE_NONE;
}

/* The node of a location below a node. */
static uint32_t location_child(struct gpu_stacks *stacks, const struct symbols *symbols,
                               uint32_t id, uint32_t parent)
{
	const struct symbol_location *location = SYMBOLS_AT(symbols->locations, id);

	if (location->line_count == 0)
		return bare_child(stacks, symbols, location, parent);
	for (uint32_t i = location->line_count; i-- > 0 && parent != FUNCTION_TREE_NONE;) {
		const struct symbol_line *line =
			SYMBOLS_AT(symbols->lines, location->first_line + i);
		const struct symbol_function *function =
			SYMBOLS_AT(symbols->functions, line->function);

		if (function->kind != FUNCTION_INTERPRETER)
			parent = function_tree_child(stacks->tree, parent,
			                             symbols_string(symbols, function->name));
	}
	return parent;
}

uint32_t gpu_stacks_node(struct gpu_stacks *stacks, const struct store_samples *samples,
                         uint32_t stack)
{
	const struct symbols *symbols = samples->symbols;
	size_t length = 0;
	uint32_t node = 0;

	if (!need_memo(stacks, samples->window, stack))
		return FUNCTION_TREE_NONE;
	for (; stack != 0 && stacks->nodes[stack] == 0;
	     stack = SYMBOLS_AT(symbols->stacks, stack)->parent) {
		if (!ARENA_GROW(stacks->arena, stacks->way, length, stacks->way_capacity))
			return FUNCTION_TREE_NONE;
		stacks->way[length++] = stack;
	}
	if (stack != 0)
		node = stacks->nodes[stack] - 1;
	while (length > 0) {
		stack = stacks->way[--length];
		node = location_child(stacks, symbols, SYMBOLS_AT(symbols->stacks, stack)->location,
		                      node);
		if (node == FUNCTION_TREE_NONE)
			return node;
		stacks->nodes[stack] = node + 1;
	}
	return node;
}

bool gpu_stacks_names(const struct gpu_stacks *stacks, uint32_t node, struct gpu_stack *out)
{
	const struct function_tree *tree = stacks->tree;
	struct str *names;
	size_t count = 0;

	for (uint32_t at = node; at != 0; at = tree->nodes[at].parent)
		count++;
	names = arena_array(stacks->arena, count + 1, sizeof(*names));
	if (!names)
		return false;
	*out = (struct gpu_stack){ names, count };
	for (uint32_t at = node; at != 0; at = tree->nodes[at].parent)
		names[--count] = tree->names[tree->nodes[at].name];
	return true;
}
