/*
 * Sums of windows, and other trees, into one function tree.
 */
#include "profile/function_tree_index.h"

struct str function_tree_bare_name(struct str mapping_file, uint64_t address, struct arena *arena)
{
	static const char before_digits[3] = { '!', '0', 'x' };
	struct str base = profile_basename(mapping_file);
	char digits[16];
	size_t at = sizeof(digits);
	char *bytes;

	if (base.length == 0)
		base = STR("unknown");
	do {
		digits[--at] = "0123456789abcdef"[address & 15];
		address >>= 4;
	} while (address > 0);
	bytes = arena_alloc_raw(arena, base.length + 3 + sizeof(digits));
	if (!bytes)
		return (struct str){ NULL, 0 };
	memcpy(bytes, base.data, base.length);
	memcpy(bytes + base.length, before_digits, sizeof(before_digits));
	memcpy(bytes + base.length + 3, digits + at, sizeof(digits) - at);
	return str_make(bytes, base.length + 3 + sizeof(digits) - at);
}

/*
 * One function stack (or node of another tree) while it is added. A node of 0 says that
 * nothing at or below it has a value, FUNCTION_TREE_NONE that something has; then,
 * parents first, it becomes the node of this tree.
 */
struct row {
	int64_t self;
	uint32_t node;
};

struct window {
	const struct symbols *symbols;
	struct row *rows;         /* by function stack */
	uint32_t *string_names;   /* by string: name + 1, 0: not asked yet */
	uint32_t *location_names; /* by location: the same for bare frames */
};

static int take_window(struct function_tree *tree, const struct symbols *symbols,
                       struct window *out)
{
	const size_t row_bytes = (size_t)symbols->function_stack_count * sizeof(struct row);
	const size_t name_bytes =
		((size_t)symbols->string_count + symbols->location_count) * sizeof(uint32_t);
	char *bytes = function_tree_scratch(tree, row_bytes + name_bytes);

	if (!bytes)
		return -1;
	memset(bytes, 0, row_bytes + name_bytes);
	out->symbols = symbols;
	out->rows = (struct row *)(void *)bytes;
	out->string_names = (uint32_t *)(void *)(bytes + row_bytes);
	out->location_names = out->string_names + symbols->string_count;
	return 0;
}

static uint32_t bare_frame_name(struct function_tree *tree, struct window *window, uint32_t id)
{
	const struct symbols *symbols = window->symbols;
	const struct symbol_location *location = SYMBOLS_AT(symbols->locations, id);
	struct str file = { NULL, 0 };
	struct str name;
	uint32_t added;

	if (window->location_names[id])
		return window->location_names[id] - 1;
	if (location->mapping != PROFILE_NONE)
		file = symbols_string(symbols,
		                      SYMBOLS_AT(symbols->mappings, location->mapping)->file);
	name = function_tree_bare_name(file, location->address, tree->arena);
	added = name.data ? function_tree_add_name(tree, name) : FUNCTION_TREE_NONE;
	window->location_names[id] = added + 1;
	return added;
}

static uint32_t frame_name(struct function_tree *tree, struct window *window, uint32_t frame)
{
	const struct symbols *symbols = window->symbols;
	uint32_t string;

	if (frame & SYMBOLS_BARE)
		return bare_frame_name(tree, window, frame & ~SYMBOLS_BARE);
	string = SYMBOLS_AT(symbols->functions, frame)->name;
	if (!window->string_names[string])
		window->string_names[string] =
			function_tree_add_name(tree, symbols_string(symbols, string)) + 1;
	return window->string_names[string] - 1;
}

/* Returns how many were not marked before. */
static size_t mark_stack(struct window *window, uint32_t stack)
{
	const struct symbols *symbols = window->symbols;
	size_t count = 0;

	for (; stack != 0 && window->rows[stack].node == 0; count++) {
		window->rows[stack].node = FUNCTION_TREE_NONE;
		stack = SYMBOLS_AT(symbols->function_stacks, stack)->parent;
	}
	return count;
}

int function_tree_add_sums(struct function_tree *tree, const struct stack_sums *sums,
                           struct error *err)
{
	const struct symbols *symbols = sums->symbols;
	struct window window;
	struct row *rows;
	size_t marked = 0;

	if (take_window(tree, symbols, &window) < 0)
		return arena_error(tree->arena, err);
	rows = window.rows;
	for (size_t i = 0; i < sums->count; i++) {
		const uint32_t stack = SYMBOLS_AT(symbols->stacks, sums->stacks[i])->function_stack;

		if (sums->sums[i] <= 0)
			continue;
		rows[stack].self = function_tree_sum(rows[stack].self, sums->sums[i]);
		marked += mark_stack(&window, stack);
	}
	/*
	 * windows of one query have most stacks in common: room for one of them is
	 * enough
	 */
	if (!function_tree_reserve(tree, marked + 1))
		return arena_error(tree->arena, err);
	for (uint32_t i = 1; i < symbols->function_stack_count; i++) {
		const struct symbol_function_stack *stack;
		uint32_t name;

		if (rows[i].node == 0)
			continue;
		stack = SYMBOLS_AT(symbols->function_stacks, i);
		name = frame_name(tree, &window, stack->frame);
		if (name == FUNCTION_TREE_NONE)
			return arena_error(tree->arena, err);
		rows[i].node = function_tree_add_child(tree, rows[stack->parent].node, name);
		if (rows[i].node == FUNCTION_TREE_NONE)
			return arena_error(tree->arena, err);
		tree->nodes[rows[i].node].self =
			function_tree_sum(tree->nodes[rows[i].node].self, rows[i].self);
	}
	return 0;
}

int64_t function_tree_scale(int64_t value, int64_t numerator, int64_t denominator)
{
	const __int128 doubled = (__int128)value * numerator * 2 + denominator;
	const __int128 divisor = (__int128)denominator * 2;
	__int128 quotient = doubled / divisor;

	if (doubled < 0 && quotient * divisor != doubled)
		quotient--; /* towards minus infinity */
	return (int64_t)(uint64_t)quotient;
}

int function_tree_add_tree(struct function_tree *tree, const struct function_tree *other,
                           int64_t numerator, int64_t denominator, struct error *err)
{
	const size_t row_bytes = other->node_count * sizeof(struct row);
	struct row *rows = function_tree_scratch(tree, row_bytes);

	if (!rows)
		return arena_error(tree->arena, err);
	memset(rows, 0, row_bytes);
	for (size_t i = 1; i < other->node_count; i++) {
		rows[i].self = function_tree_scale(other->nodes[i].self, numerator, denominator);
		if (rows[i].self <= 0)
			continue;
		for (size_t up = i; up != 0 && rows[up].node == 0; up = other->nodes[up].parent)
			rows[up].node = FUNCTION_TREE_NONE;
	}
	for (size_t i = 1; i < other->node_count; i++) {
		const struct function_node *node = &other->nodes[i];

		if (rows[i].node == 0)
			continue;
		rows[i].node = function_tree_child(tree, rows[node->parent].node,
		                                   other->names[node->name]);
		if (rows[i].node == FUNCTION_TREE_NONE)
			return arena_error(tree->arena, err);
		if (rows[i].self > 0)
			tree->nodes[rows[i].node].self =
				function_tree_sum(tree->nodes[rows[i].node].self, rows[i].self);
	}
	return 0;
}
