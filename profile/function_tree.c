#include "profile/function_tree.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "profile/intern.h"
#include "profile/value_heap.h"

struct function_tree_index {
	struct intern names;
	struct intern children; /* (parent, name); id + 1 is the node */
	size_t name_capacity;
	size_t node_capacity;
	uint64_t secret;
	void *scratch; /* for one call at a time; kept, since windows come one after another */
	size_t scratch_size;
};

static const struct str other_name = { "other", 5 };

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static uint64_t random_secret(void)
{
	const struct uuid random = uuid_random();
	uint64_t secret;

	memcpy(&secret, random.bytes, sizeof(secret));
	return secret;
}

uint32_t function_tree_find_name(const struct function_tree *tree, struct str name)
{
	return intern_find(&tree->index->names, hash128_str(tree->index->secret, name));
}

/* The bytes are copied before the name gets its id, so that every id has its bytes. */
static uint32_t add_name(struct function_tree *tree, struct str name)
{
	struct function_tree_index *index = tree->index;
	const struct hash128 key = hash128_str(index->secret, name);
	uint32_t id = intern_find(&index->names, key);
	struct str copy = STR("");
	bool is_new;

	if (id != INTERN_NONE)
		return id;
	if (name.length > 0)
		copy = arena_copy(tree->arena, name);
	if (!copy.data ||
	    !ARENA_GROW(tree->arena, tree->names, tree->name_count, index->name_capacity))
		return FUNCTION_TREE_NONE;
	id = intern_add(&index->names, tree->arena, key, &is_new);
	if (id != INTERN_NONE)
		tree->names[tree->name_count++] = copy;
	return id;
}

static struct function_node new_node(uint32_t parent, uint32_t name)
{
	return (struct function_node){
		.parent = parent,
		.name = name,
		.first_child = FUNCTION_TREE_NONE,
		.next_sibling = FUNCTION_TREE_NONE,
	};
}

/* The node of `name` (an id) under `parent`. */
static uint32_t add_child(struct function_tree *tree, uint32_t parent, uint32_t name)
{
	struct function_tree_index *index = tree->index;
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(tree->arena, tree->nodes, tree->node_count, index->node_capacity))
		return FUNCTION_TREE_NONE;
	id = intern_add(&index->children, tree->arena, intern_pair(index->secret, parent, name),
	                &is_new);
	if (id == INTERN_NONE)
		return FUNCTION_TREE_NONE;
	if (is_new)
		tree->nodes[tree->node_count++] = new_node(parent, name);
	return id + 1;
}

int function_tree_new(struct arena *arena, struct function_tree **out, struct error *err)
{
	struct function_tree *tree = arena_alloc(arena, sizeof(*tree));
	struct function_tree_index *index = arena_alloc(arena, sizeof(*index));

	if (!tree || !index)
		return arena_error(arena, err);
	index->secret = random_secret();
	tree->arena = arena;
	tree->index = index;
	if (add_name(tree, STR("")) == FUNCTION_TREE_NONE ||
	    !ARENA_GROW(arena, tree->nodes, tree->node_count, index->node_capacity))
		return arena_error(arena, err);
	tree->nodes[tree->node_count++] = new_node(FUNCTION_TREE_NONE, 0);
	*out = tree;
	return 0;
}

uint32_t function_tree_child(struct function_tree *tree, uint32_t parent, struct str name)
{
	const uint32_t id = add_name(tree, name);

	return id == FUNCTION_TREE_NONE ? id : add_child(tree, parent, id);
}

/* `size` bytes, not zeroed, good until the next call. */
static void *take_scratch(const struct function_tree *tree, size_t size)
{
	struct function_tree_index *index = tree->index;

	if (size > index->scratch_size) {
		index->scratch = arena_alloc_raw(tree->arena, size);
		index->scratch_size = index->scratch ? size : 0;
	}
	return index->scratch;
}

struct str function_tree_bare_name(struct str mapping_file, uint64_t address, struct arena *arena)
{
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
	memcpy(bytes + base.length, "!0x", 3);
	memcpy(bytes + base.length + 3, digits + at, sizeof(digits) - at);
	return str_make(bytes, base.length + 3 + sizeof(digits) - at);
}

/*
 * One function stack (or node of another tree) while it is added. A node of 0 says that
 * nothing at or below it has a value, FUNCTION_TREE_NONE that something has; then, parents
 * first, it becomes the node of this tree.
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
	char *bytes = take_scratch(tree, row_bytes + name_bytes);

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
	added = name.data ? add_name(tree, name) : FUNCTION_TREE_NONE;
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
		window->string_names[string] = add_name(tree, symbols_string(symbols, string)) + 1;
	return window->string_names[string] - 1;
}

static void mark_stack(struct window *window, uint32_t stack)
{
	const struct symbols *symbols = window->symbols;

	while (stack != 0 && window->rows[stack].node == 0) {
		window->rows[stack].node = FUNCTION_TREE_NONE;
		stack = SYMBOLS_AT(symbols->function_stacks, stack)->parent;
	}
}

int function_tree_add_sums(struct function_tree *tree, const struct stack_sums *sums,
                           struct error *err)
{
	const struct symbols *symbols = sums->symbols;
	struct window window;
	struct row *rows;

	if (take_window(tree, symbols, &window) < 0)
		return arena_error(tree->arena, err);
	rows = window.rows;
	for (size_t i = 0; i < sums->count; i++) {
		const uint32_t stack = SYMBOLS_AT(symbols->stacks, sums->stacks[i])->function_stack;

		if (sums->sums[i] <= 0)
			continue;
		rows[stack].self = wrap_add(rows[stack].self, sums->sums[i]);
		mark_stack(&window, stack);
	}
	for (uint32_t i = 1; i < symbols->function_stack_count; i++) {
		const struct symbol_function_stack *stack;
		uint32_t name;

		if (rows[i].node == 0)
			continue;
		stack = SYMBOLS_AT(symbols->function_stacks, i);
		name = frame_name(tree, &window, stack->frame);
		if (name == FUNCTION_TREE_NONE)
			return arena_error(tree->arena, err);
		rows[i].node = add_child(tree, rows[stack->parent].node, name);
		if (rows[i].node == FUNCTION_TREE_NONE)
			return arena_error(tree->arena, err);
		tree->nodes[rows[i].node].self =
			wrap_add(tree->nodes[rows[i].node].self, rows[i].self);
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
	struct row *rows = take_scratch(tree, row_bytes);

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
				wrap_add(tree->nodes[rows[i].node].self, rows[i].self);
	}
	return 0;
}

/* A name with its first eight bytes as a number of the same order. */
struct sortable_name {
	uint64_t prefix;
	const struct str *name;
};

static int compare_names(const void *left, const void *right)
{
	const struct sortable_name *a = left;
	const struct sortable_name *b = right;

	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return str_compare(*a->name, *b->name);
}

static uint64_t name_prefix(struct str name)
{
	uint64_t prefix = 0;

	memcpy(&prefix, name.data, name.length < sizeof(prefix) ? name.length : sizeof(prefix));
	return __builtin_bswap64(prefix);
}

/* ranks[name]: the name's place among all names by bytes. */
static void rank_names(const struct function_tree *tree, struct sortable_name *sorted,
                       uint32_t *ranks)
{
	for (size_t i = 0; i < tree->name_count; i++)
		sorted[i] = (struct sortable_name){ name_prefix(tree->names[i]), &tree->names[i] };
	qsort(sorted, tree->name_count, sizeof(*sorted), compare_names);
	for (size_t i = 0; i < tree->name_count; i++)
		ranks[sorted[i].name - tree->names] = (uint32_t)i;
}

/* Nodes in descending order of their names, each put in front of its parent's children. */
static void link_children(struct function_tree *tree, const uint32_t *ranks, uint32_t *ends,
                          uint32_t *order)
{
	struct function_node *nodes = tree->nodes;
	const size_t count = tree->node_count;

	memset(ends, 0, tree->name_count * sizeof(*ends));
	for (size_t i = 1; i < count; i++)
		ends[ranks[nodes[i].name]]++;
	for (size_t i = 1; i < tree->name_count; i++)
		ends[i] += ends[i - 1];
	for (size_t i = 1; i < count; i++)
		order[--ends[ranks[nodes[i].name]]] = (uint32_t)i;
	for (size_t i = 0; i < count; i++)
		nodes[i].first_child = FUNCTION_TREE_NONE;
	for (size_t i = count - 1; i > 0; i--) {
		struct function_node *node = &nodes[order[i - 1]];

		node->next_sibling = nodes[node->parent].first_child;
		nodes[node->parent].first_child = order[i - 1];
	}
}

int function_tree_finish(struct function_tree *tree, struct error *err)
{
	const size_t names = tree->name_count;
	char *scratch =
		take_scratch(tree, names * sizeof(struct sortable_name) +
	                                   (2 * names + tree->node_count) * sizeof(uint32_t));
	uint32_t *ranks;

	if (!scratch)
		return arena_error(tree->arena, err);
	ranks = (uint32_t *)(void *)(scratch + names * sizeof(struct sortable_name));
	rank_names(tree, (struct sortable_name *)(void *)scratch, ranks);
	link_children(tree, ranks, ranks + names, ranks + 2 * names);

	for (size_t i = 0; i < tree->node_count; i++)
		tree->nodes[i].total = tree->nodes[i].self;
	for (size_t i = tree->node_count - 1; i > 0; i--) {
		struct function_node *parent = &tree->nodes[tree->nodes[i].parent];

		parent->total = wrap_add(parent->total, tree->nodes[i].total);
	}
	return 0;
}

int function_tree_min_value(const struct function_tree *tree, int64_t max_nodes, int64_t *out,
                            struct error *err)
{
	const size_t count = tree->node_count - 1;
	struct value_heap heap;
	uint32_t *pending;
	size_t pending_count = 0;

	*out = 0;
	if (max_nodes < 1 || (uint64_t)max_nodes >= count)
		return 0;
	heap = (struct value_heap){ .capacity = (size_t)max_nodes };
	heap.values = take_scratch(tree, heap.capacity * sizeof(*heap.values) +
	                                         tree->node_count * sizeof(*pending));
	if (!heap.values)
		return arena_error(tree->arena, err);
	pending = (uint32_t *)(void *)(heap.values + heap.capacity);
	pending[pending_count++] = 0;
	while (pending_count > 0) {
		const struct function_node *node = &tree->nodes[pending[--pending_count]];

		/* What is below the N largest has no larger child. */
		if (node != tree->nodes && !value_heap_offer(&heap, node->total))
			continue;
		for (uint32_t i = node->first_child; i != FUNCTION_TREE_NONE;
		     i = tree->nodes[i].next_sibling)
			pending[pending_count++] = i;
	}
	*out = value_heap_threshold(&heap);
	return 0;
}

/*
 * Copies the nodes of at least min_value, and those named "other"; folded[node] gets the sum
 * of what was left out below it. map[node] is the copy, or FUNCTION_TREE_NONE.
 */
static int copy_kept(const struct function_tree *tree, int64_t min_value,
                     struct function_tree *copy, uint32_t *map, int64_t *folded)
{
	const uint32_t other = function_tree_find_name(tree, other_name);

	map[0] = 0;
	for (size_t i = 1; i < tree->node_count; i++) {
		const struct function_node *node = &tree->nodes[i];

		map[i] = FUNCTION_TREE_NONE;
		if (map[node->parent] == FUNCTION_TREE_NONE)
			continue;
		if (node->total < min_value && node->name != other) {
			folded[node->parent] = wrap_add(folded[node->parent], node->total);
			continue;
		}
		map[i] = function_tree_child(copy, map[node->parent], tree->names[node->name]);
		if (map[i] == FUNCTION_TREE_NONE)
			return -1;
		copy->nodes[map[i]].self = node->self;
	}
	return 0;
}

int function_tree_truncate(const struct function_tree *tree, int64_t max_nodes, struct arena *arena,
                           struct function_tree **out, struct error *err)
{
	uint32_t *map = arena_array(arena, tree->node_count, sizeof(*map));
	int64_t *folded = arena_array(arena, tree->node_count, sizeof(*folded));
	struct function_tree *copy;
	int64_t min_value;

	if (!map || !folded)
		return arena_error(arena, err);
	if (function_tree_min_value(tree, max_nodes, &min_value, err) < 0 ||
	    function_tree_new(arena, &copy, err) < 0)
		return -1;
	if (copy_kept(tree, min_value, copy, map, folded) < 0)
		return arena_error(arena, err);
	for (size_t i = 0; i < tree->node_count; i++) {
		uint32_t other;

		if (folded[i] <= 0)
			continue;
		other = function_tree_child(copy, map[i], other_name);
		if (other == FUNCTION_TREE_NONE)
			return arena_error(arena, err);
		copy->nodes[other].self = wrap_add(copy->nodes[other].self, folded[i]);
	}
	if (function_tree_finish(copy, err) < 0)
		return -1;
	*out = copy;
	return 0;
}
