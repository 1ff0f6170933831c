#include "profile/flame_graph.h"

#include "profile/value_heap.h"

#define SIDES_MAX 2

static const struct str other_name = { "other", 5 };
static const struct str total_name = { "total", 5 };

struct side {
	int64_t total;
	int64_t self;
};

/* A node that waits to be placed; FUNCTION_TREE_NONE is a leaf "other". */
struct pending {
	uint32_t level;
	uint32_t node;
	int64_t x[SIDES_MAX];
	int64_t other[SIDES_MAX]; /* of that leaf */
};

/* A placed node. They come right to left within each level. */
struct item {
	uint32_t level;
	uint32_t name; /* in the graph */
	int64_t x[SIDES_MAX];
	struct side sides[SIDES_MAX];
};

/* One run over a tree; both kinds of graph are the same but for what stands here. */
struct walk {
	const struct function_tree *tree; /* its names and its children's order */
	const struct side *sides;         /* side_count for each node */
	size_t side_count;
	int64_t min_value;
	uint32_t folded_name; /* children of this name are always folded */
	uint32_t other;       /* name id of "other"; tree->name_count when the tree has none */
	uint32_t *indices;    /* by name id: index in the graph + 1 */

	struct arena *arena;
	struct flame_graph *out;
	size_t name_capacity;
	struct pending *pending;
	size_t pending_count;
	size_t pending_capacity;
	struct item *items;
	size_t item_count;
	size_t item_capacity;
};

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrap_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static bool push(struct walk *walk, const struct pending *pending)
{
	if (!ARENA_GROW(walk->arena, walk->pending, walk->pending_count, walk->pending_capacity))
		return false;
	walk->pending[walk->pending_count++] = *pending;
	return true;
}

static bool add_name(struct walk *walk, uint32_t id, struct str name)
{
	struct flame_graph *out = walk->out;

	if (!ARENA_GROW(walk->arena, out->names, out->name_count, walk->name_capacity))
		return false;
	out->names[out->name_count++] = name;
	if (id != FUNCTION_TREE_NONE)
		walk->indices[id] = (uint32_t)out->name_count;
	return true;
}

/* The place of a name in the graph; false when the arena is full. */
static bool name_index(struct walk *walk, uint32_t id, uint32_t *out)
{
	const struct str name = id == walk->other ? other_name : walk->tree->names[id];

	if (walk->indices[id] == 0 && !add_name(walk, id, name))
		return false;
	*out = walk->indices[id] - 1;
	return true;
}

static bool place(struct walk *walk, const struct pending *pending)
{
	struct item item = { .level = pending->level };
	const bool is_root = pending->level == 0;
	uint32_t name = walk->other;

	for (size_t s = 0; s < walk->side_count; s++) {
		item.x[s] = pending->x[s];
		item.sides[s] = (struct side){ pending->other[s], pending->other[s] };
	}
	if (pending->node != FUNCTION_TREE_NONE) {
		memcpy(item.sides, &walk->sides[pending->node * walk->side_count],
		       walk->side_count * sizeof(*item.sides));
		name = walk->tree->nodes[pending->node].name;
	}
	if ((!is_root && !name_index(walk, name, &item.name)) ||
	    !ARENA_GROW(walk->arena, walk->items, walk->item_count, walk->item_capacity))
		return false;
	for (size_t s = 0; s < walk->side_count; s++)
		if (item.sides[s].self > walk->out->max_self)
			walk->out->max_self = item.sides[s].self;
	walk->items[walk->item_count++] = item;
	return true;
}

/* Whether a child stays itself. */
static bool is_kept(const struct walk *walk, uint32_t node)
{
	const struct side *sides = &walk->sides[node * walk->side_count];

	if (walk->tree->nodes[node].name == walk->folded_name)
		return false;
	for (size_t s = 0; s < walk->side_count; s++)
		if (sides[s].total >= walk->min_value)
			return true;
	return false;
}

/* The children of a placed node: its own part first, then they, what is folded last. */
static bool push_children(struct walk *walk, const struct pending *parent)
{
	const struct side *own = &walk->sides[parent->node * walk->side_count];
	struct pending other = { .level = parent->level + 1, .node = FUNCTION_TREE_NONE };
	bool has_other = false;

	for (size_t s = 0; s < walk->side_count; s++)
		other.x[s] = wrap_add(parent->x[s], own[s].self);
	for (uint32_t i = walk->tree->nodes[parent->node].first_child; i != FUNCTION_TREE_NONE;
	     i = walk->tree->nodes[i].next_sibling) {
		const struct side *sides = &walk->sides[i * walk->side_count];
		struct pending child = { .level = other.level, .node = i };
		const bool kept = is_kept(walk, i);

		memcpy(child.x, other.x, sizeof(child.x));
		for (size_t s = 0; s < walk->side_count; s++) {
			int64_t *grows = kept ? &other.x[s] : &other.other[s];

			*grows = wrap_add(*grows, sides[s].total);
		}
		if (kept && !push(walk, &child))
			return false;
	}
	for (size_t s = 0; s < walk->side_count; s++)
		has_other = has_other || other.other[s] != 0;
	return !has_other || push(walk, &other);
}

/* Writes items of one level from its end to its start, then makes positions distances. */
static void write_levels(const struct walk *walk, int64_t *values)
{
	struct flame_graph *out = walk->out;
	const size_t width = 3 * walk->side_count + 1;

	for (size_t i = 0; i < walk->item_count; i++)
		out->levels[walk->items[i].level].count += width;
	for (size_t i = 0; i < out->level_count; i++) {
		values += out->levels[i].count;
		out->levels[i].values = values; /* the end; it goes down to the start */
	}
	for (size_t i = 0; i < walk->item_count; i++) {
		const struct item *item = &walk->items[i];
		int64_t *to = out->levels[item->level].values -= width;

		for (size_t s = 0; s < walk->side_count; s++) {
			*to++ = item->x[s];
			*to++ = item->sides[s].total;
			*to++ = item->sides[s].self;
		}
		*to = item->name;
	}
	for (size_t i = 0; i < out->level_count; i++) {
		int64_t ends[SIDES_MAX] = { 0 };

		for (size_t at = 0; at < out->levels[i].count; at += width)
			for (size_t s = 0; s < walk->side_count; s++) {
				int64_t *tuple = &out->levels[i].values[at + 3 * s];
				const int64_t x = tuple[0];

				tuple[0] = wrap_sub(x, ends[s]);
				ends[s] = wrap_add(x, tuple[1]);
			}
	}
}

static int take_levels(struct walk *walk, struct error *err)
{
	struct flame_graph *out = walk->out;
	int64_t *values;

	for (size_t i = 0; i < walk->item_count; i++)
		if (walk->items[i].level >= out->level_count)
			out->level_count = walk->items[i].level + 1;
	out->levels = arena_array(walk->arena, out->level_count, sizeof(*out->levels));
	values = arena_array_raw(walk->arena, walk->item_count,
	                         (3 * walk->side_count + 1) * sizeof(*values));
	if (!out->levels || !values)
		return arena_error(walk->arena, err);
	write_levels(walk, values);
	return 0;
}

/* root_key: the name id that shares the root's place, or FUNCTION_TREE_NONE. */
static int walk_run(struct walk *walk, uint32_t root_key, struct error *err)
{
	const struct pending root = { 0 };

	walk->other = function_tree_find_name(walk->tree, other_name);
	if (walk->other == FUNCTION_TREE_NONE)
		walk->other = (uint32_t)walk->tree->name_count;
	walk->indices =
		arena_array(walk->arena, walk->tree->name_count + 1, sizeof(*walk->indices));
	if (!walk->indices || !add_name(walk, root_key, total_name) || !push(walk, &root))
		return arena_error(walk->arena, err);
	while (walk->pending_count > 0) {
		const struct pending next = walk->pending[--walk->pending_count];

		if (!place(walk, &next) ||
		    (next.node != FUNCTION_TREE_NONE && !push_children(walk, &next)))
			return arena_error(walk->arena, err);
	}
	return take_levels(walk, err);
}

int flame_graph_make(const struct function_tree *tree, int64_t max_nodes, struct arena *arena,
                     struct flame_graph *out, struct error *err)
{
	struct side *sides = arena_array_raw(arena, tree->node_count, sizeof(*sides));
	struct flame_graph graph = { .total = tree->nodes[0].total };
	struct walk walk = { .tree = tree, .sides = sides, .side_count = 1, .arena = arena };

	if (!sides)
		return arena_error(arena, err);
	if (function_tree_min_value(tree, max_nodes, &walk.min_value, err) < 0)
		return -1;
	for (size_t i = 0; i < tree->node_count; i++)
		sides[i] = (struct side){ tree->nodes[i].total, tree->nodes[i].self };
	walk.out = &graph;
	walk.folded_name = function_tree_find_name(tree, other_name);
	if (walk_run(&walk, function_tree_find_name(tree, total_name), err) < 0)
		return -1;
	*out = graph;
	return 0;
}

/* Puts a tree's nodes into `merged` and their values into sides[2 * node + side]. */
static int add_shape(const struct function_tree *tree, struct function_tree *merged, size_t side,
                     struct side *sides, struct error *err)
{
	uint32_t *map = arena_array(merged->arena, tree->node_count, sizeof(*map));

	if (!map)
		return arena_error(merged->arena, err);
	for (size_t i = 0; i < tree->node_count; i++) {
		const struct function_node *node = &tree->nodes[i];

		if (i > 0)
			map[i] = function_tree_child(merged, map[node->parent],
			                             tree->names[node->name]);
		if (map[i] == FUNCTION_TREE_NONE)
			return arena_error(merged->arena, err);
		sides[2 * (size_t)map[i] + side] = (struct side){ node->total, node->self };
	}
	return 0;
}

/* The N-th largest of the greater totals of all nodes, the root included. */
static int diff_min_value(const struct side *sides, size_t node_count, int64_t max_nodes,
                          struct arena *arena, int64_t *out, struct error *err)
{
	struct value_heap heap = { .capacity = max_nodes > 0 ? (size_t)max_nodes : 0 };

	*out = 0;
	if (max_nodes <= 0 || (uint64_t)max_nodes >= node_count)
		return 0;
	heap.values = arena_array_raw(arena, heap.capacity, sizeof(*heap.values));
	if (!heap.values)
		return arena_error(arena, err);
	for (size_t i = 0; i < node_count; i++) {
		const struct side *pair = &sides[2 * i];

		value_heap_offer(&heap,
		                 pair[0].total > pair[1].total ? pair[0].total : pair[1].total);
	}
	*out = value_heap_threshold(&heap);
	return 0;
}

int flame_graph_diff(const struct function_tree *left, const struct function_tree *right,
                     int64_t max_nodes, struct arena *arena, struct flame_graph *out,
                     struct error *err)
{
	const size_t most_nodes = left->node_count + right->node_count;
	struct side *sides = arena_array(arena, most_nodes, 2 * sizeof(*sides));
	struct flame_graph graph = { .is_diff = true };
	struct walk walk = { .sides = sides, .side_count = 2, .arena = arena };
	struct function_tree *merged;
	int64_t min_value = 0;

	if (!sides)
		return arena_error(arena, err);
	if (function_tree_new(arena, &merged, err) < 0 ||
	    add_shape(left, merged, 0, sides, err) < 0 ||
	    add_shape(right, merged, 1, sides, err) < 0 || function_tree_finish(merged, err) < 0 ||
	    diff_min_value(sides, merged->node_count, max_nodes, arena, &min_value, err) < 0)
		return -1;
	graph.left_ticks = left->nodes[0].total;
	graph.right_ticks = right->nodes[0].total;
	graph.total = wrap_add(graph.left_ticks, graph.right_ticks);
	walk.tree = merged;
	walk.min_value = min_value;
	walk.out = &graph;
	walk.folded_name = FUNCTION_TREE_NONE;
	if (walk_run(&walk, 0, err) < 0)
		return -1;
	*out = graph;
	return 0;
}
