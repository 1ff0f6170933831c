#include "profile/frame_tree.h"

#include "base/cleanup.h"
#include "profile/function_tree.h"

static struct frame_node new_node(uint32_t parent, uint32_t frame)
{
	return (struct frame_node){
		.parent = parent,
		.frame = frame,
		.first_child = FRAME_NONE,
		.next_sibling = FRAME_NONE,
	};
}

int frame_tree_new(struct frame_set *frames, struct frame_tree **out, struct error *err)
{
	struct frame_tree *tree = arena_alloc(frames->arena, sizeof(*tree));

	if (!tree)
		return arena_error(frames->arena, err);
	tree->arena = frames->arena;
	tree->frames = frames;
	if (!ARENA_GROW(tree->arena, tree->nodes, tree->node_count, tree->node_capacity))
		return arena_error(tree->arena, err);
	tree->nodes[tree->node_count++] = new_node(FRAME_NONE, FRAME_ROOT);
	*out = tree;
	return 0;
}

uint32_t frame_tree_child(struct frame_tree *tree, uint32_t parent, uint32_t frame)
{
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(tree->arena, tree->nodes, tree->node_count, tree->node_capacity))
		return FRAME_NONE;
	id = intern_add(&tree->children, tree->arena,
	                intern_pair(tree->frames->secret, parent, frame), &is_new);
	if (id == INTERN_NONE)
		return FRAME_NONE;
	if (is_new)
		tree->nodes[tree->node_count++] = new_node(parent, frame);
	return id + 1;
}

/*
 * A node of another tree while it is added. A node of 0 says that nothing at or below it
 * has a value, FRAME_NONE that something has; then, parents first, it becomes the node of
 * this tree.
 */
struct row {
	int64_t self;
	uint32_t node;
};

static void scale(const struct frame_tree *other, enum frame_side side, int64_t divisor,
                  struct row *rows)
{
	for (size_t i = 1; i < other->node_count; i++) {
		rows[i].self = function_tree_scale(other->nodes[i].sides[side].self, 1, divisor);
		if (rows[i].self <= 0)
			continue;
		for (size_t up = i; up != 0 && rows[up].node == 0; up = other->nodes[up].parent)
			rows[up].node = FRAME_NONE;
	}
}

int frame_tree_add_tree(struct frame_tree *tree, const struct frame_tree *other,
                        enum frame_side side, int64_t divisor, struct error *err)
{
	CLEANUP(arena_freep) struct arena *step = arena_branch(tree->arena);
	struct row *rows = arena_array(step, other->node_count, sizeof(*rows));

	if (!rows)
		return arena_error(step, err);
	scale(other, side, divisor, rows);
	for (size_t i = 1; i < other->node_count; i++) {
		const struct frame_node *node = &other->nodes[i];
		struct frame_value *value;

		if (rows[i].node == 0)
			continue;
		rows[i].node = frame_tree_child(tree, rows[node->parent].node, node->frame);
		if (rows[i].node == FRAME_NONE)
			return arena_error(tree->arena, err);
		value = &tree->nodes[rows[i].node].sides[side];
		if (rows[i].self > 0)
			value->self = frame_value_sum(value->self, rows[i].self);
	}
	return 0;
}

/* ---- finishing ---- */

/*
 * Nodes in descending order of their frames, each put in front of its parent's children:
 * a counting sort by rank.
 */
static void link_children(struct frame_tree *tree, const uint32_t *ranks, uint32_t *ends,
                          uint32_t *order)
{
	struct frame_node *nodes = tree->nodes;
	const size_t count = tree->node_count;

	for (size_t i = 1; i < count; i++)
		ends[ranks[nodes[i].frame]]++;
	for (size_t i = 1; i < tree->frames->count; i++)
		ends[i] += ends[i - 1];
	for (size_t i = 1; i < count; i++)
		order[--ends[ranks[nodes[i].frame]]] = (uint32_t)i;
	for (size_t i = 0; i < count; i++)
		nodes[i].first_child = FRAME_NONE;
	for (size_t i = count - 1; i > 0; i--) {
		struct frame_node *node = &nodes[order[i - 1]];

		node->next_sibling = nodes[node->parent].first_child;
		nodes[node->parent].first_child = order[i - 1];
	}
}

static void sum_totals(struct frame_tree *tree)
{
	for (size_t i = 0; i < tree->node_count; i++)
		for (size_t s = 0; s < FRAME_SIDES; s++)
			tree->nodes[i].sides[s].total = tree->nodes[i].sides[s].self;
	for (size_t i = tree->node_count - 1; i > 0; i--) {
		const struct frame_value *from = tree->nodes[i].sides;
		struct frame_value *to = tree->nodes[tree->nodes[i].parent].sides;

		for (size_t s = 0; s < FRAME_SIDES; s++)
			to[s].total = frame_value_sum(to[s].total, from[s].total);
	}
}

int frame_tree_finish(struct frame_tree *tree, const uint32_t *ranks, struct error *err)
{
	CLEANUP(arena_freep) struct arena *step = arena_branch(tree->arena);
	uint32_t *ends = arena_array(step, tree->frames->count, sizeof(*ends));
	uint32_t *order = arena_array_raw(step, tree->node_count, sizeof(*order));

	if (!ends || !order)
		return arena_error(step, err);
	link_children(tree, ranks, ends, order);
	sum_totals(tree);
	return 0;
}

uint32_t frame_tree_next(const struct frame_tree *tree, uint32_t top, uint32_t node, bool is_pruned,
                         size_t *depth)
{
	if (!is_pruned && tree->nodes[node].first_child != FRAME_NONE) {
		++*depth;
		return tree->nodes[node].first_child;
	}
	while (node != top && tree->nodes[node].next_sibling == FRAME_NONE) {
		node = tree->nodes[node].parent;
		--*depth;
	}
	return node == top ? FRAME_NONE : tree->nodes[node].next_sibling;
}
