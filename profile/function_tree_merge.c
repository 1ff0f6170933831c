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

/* A window's stacks while they are added. */
struct window {
	const struct symbols *symbols;
	uint32_t *nodes;          /* by number of a marked stack: the node of its innermost frame */
	uint32_t *string_names;   /* by string: name + 1, 0: not asked yet */
	uint32_t *location_names; /* by location: the same, for those of one frame */
};

static int take_window(struct function_tree *tree, const struct symbols *symbols,
                       uint32_t stack_count, struct window *out)
{
	const size_t name_count = (size_t)symbols->string_count + symbols->location_count;
	uint32_t *room = function_tree_scratch(tree, (name_count + stack_count) * sizeof(uint32_t));

	if (!room)
		return -1;
	memset(room, 0, name_count * sizeof(uint32_t));
	out->symbols = symbols;
	out->string_names = room;
	out->location_names = room + symbols->string_count;
	out->nodes = room + name_count;
	return 0;
}

static uint32_t bare_name(struct function_tree *tree, const struct symbols *symbols,
                          const struct symbol_location *location)
{
	struct str file = { NULL, 0 };
	struct str name;

	if (location->mapping != PROFILE_NONE)
		file = symbols_string(symbols,
		                      SYMBOLS_AT(symbols->mappings, location->mapping)->file);
	name = function_tree_bare_name(file, location->address, tree->arena);
	return name.data ? function_tree_add_name(tree, name) : FUNCTION_TREE_NONE;
}

static uint32_t line_name(struct function_tree *tree, struct window *window, uint32_t line)
{
	const struct symbols *symbols = window->symbols;
	const uint32_t function = SYMBOLS_AT(symbols->lines, line)->function;
	const uint32_t string = SYMBOLS_AT(symbols->functions, function)->name;

	if (!window->string_names[string])
		window->string_names[string] =
			function_tree_add_name(tree, symbols_string(symbols, string)) + 1;
	return window->string_names[string] - 1;
}

/*
 * Names the locations of one frame that marked stacks have. Apart from making nodes, so
 * that the look-ups of many locations wait for memory at the same time.
 */
static int name_locations(struct function_tree *tree, struct window *window)
{
	const struct stack_marks *marks = &tree->index->marks;
	const struct symbols *symbols = window->symbols;

	for (uint32_t id = stack_marks_next(marks, 0); id; id = stack_marks_next(marks, id)) {
		const uint32_t at = SYMBOLS_AT(symbols->stacks, id)->location;
		const struct symbol_location *location;
		uint32_t name;

		if (window->location_names[at])
			continue;
		location = SYMBOLS_AT(symbols->locations, at);
		if (location->line_count > 1)
			continue;
		name = location->line_count == 0 ? bare_name(tree, symbols, location)
		                                 : line_name(tree, window, location->first_line);
		if (name == FUNCTION_TREE_NONE)
			return -1;
		window->location_names[at] = name + 1;
	}
	return 0;
}

/* The node of a location's innermost frame below `node`. FUNCTION_TREE_NONE: no memory. */
static uint32_t add_location(struct function_tree *tree, struct window *window, uint32_t node,
                             uint32_t id)
{
	const struct symbol_location *location;

	if (window->location_names[id])
		return function_tree_add_child(tree, node, window->location_names[id] - 1);
	location = SYMBOLS_AT(window->symbols->locations, id);
	for (uint32_t i = location->line_count; i-- > 0 && node != FUNCTION_TREE_NONE;) {
		const uint32_t name = line_name(tree, window, location->first_line + i);

		node = name == FUNCTION_TREE_NONE ? name
		                                  : function_tree_add_child(tree, node, name);
	}
	return node;
}

/* A node for each marked stack, parents first. */
static int add_stacks(struct function_tree *tree, struct window *window)
{
	const struct stack_marks *marks = &tree->index->marks;
	uint32_t number = 0;

	for (uint32_t id = stack_marks_next(marks, 0); id; id = stack_marks_next(marks, id)) {
		const struct symbol_stack *stack = SYMBOLS_AT(window->symbols->stacks, id);
		const uint32_t parent =
			stack->parent ? window->nodes[stack_marks_number(marks, stack->parent)] : 0;
		const uint32_t node = add_location(tree, window, parent, stack->location);

		if (node == FUNCTION_TREE_NONE)
			return -1;
		window->nodes[number++] = node;
	}
	return 0;
}

int function_tree_add_sums(struct function_tree *tree, const struct stack_sums *sums,
                           struct error *err)
{
	struct stack_marks *marks = &tree->index->marks;
	struct window window;
	uint32_t marked;

	if (stack_marks_begin(marks, sums->symbols->stack_count, err) < 0)
		return -1;
	for (size_t i = 0; i < sums->count; i++)
		if (sums->sums[i] > 0)
			stack_marks_add(marks, sums->symbols, sums->stacks[i]);
	marked = stack_marks_rank(marks);
	/*
	 * windows of one query have most stacks in common: room for one of them is
	 * enough
	 */
	if (take_window(tree, sums->symbols, marked, &window) < 0 ||
	    !function_tree_reserve(tree, (size_t)marked + 1) || name_locations(tree, &window) < 0 ||
	    add_stacks(tree, &window) < 0)
		return arena_error(tree->arena, err);
	for (size_t i = 0; i < sums->count; i++) {
		struct function_node *node;

		if (sums->sums[i] <= 0)
			continue;
		node = &tree->nodes[window.nodes[stack_marks_number(marks, sums->stacks[i])]];
		node->self = function_tree_sum(node->self, sums->sums[i]);
	}
	return 0;
}

/*
 * A node of another tree while it is added. A node of 0 says that nothing at or below it
 * has a value, FUNCTION_TREE_NONE that something has; then, parents first, it becomes the
 * node of this tree.
 */
struct row {
	int64_t self;
	uint32_t node;
};

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
