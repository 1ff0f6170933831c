/*
 * The N largest nodes of a function tree, and what becomes of the others.
 */
#include "profile/function_tree_index.h"
#include "profile/value_heap.h"

static const struct str other_name = { "other", 5 };

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
	heap.values = function_tree_scratch(tree, heap.capacity * sizeof(*heap.values) +
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

/* A cut in progress: what became of the nodes and names of `tree` in `copy`. */
struct cut {
	const struct function_tree *tree;
	struct function_tree *copy;
	uint32_t *nodes; /* by node: its copy, or FUNCTION_TREE_NONE */
	uint32_t *names; /* by name: its copy + 1, 0: not asked yet */
	int64_t *folded; /* by node: the sum of what was left out below it */
};

static uint32_t copy_node(struct cut *cut, const struct function_node *node)
{
	uint32_t *name = &cut->names[node->name];
	uint32_t id;

	if (*name == 0)
		*name = function_tree_add_name(cut->copy, cut->tree->names[node->name]) + 1;
	if (*name == 0)
		return FUNCTION_TREE_NONE;
	id = function_tree_add_child(cut->copy, cut->nodes[node->parent], *name - 1);
	if (id != FUNCTION_TREE_NONE)
		cut->copy->nodes[id].self = node->self;
	return id;
}

/* Copies the nodes of at least min_value, and those named "other". */
static bool copy_kept(struct cut *cut, int64_t min_value)
{
	const struct function_tree *tree = cut->tree;
	const uint32_t other = function_tree_find_name(tree, other_name);

	for (size_t i = 1; i < tree->node_count; i++) {
		const struct function_node *node = &tree->nodes[i];
		int64_t *folded = &cut->folded[node->parent];

		cut->nodes[i] = FUNCTION_TREE_NONE;
		if (cut->nodes[node->parent] == FUNCTION_TREE_NONE)
			continue;
		if (node->total < min_value && node->name != other) {
			*folded = function_tree_sum(*folded, node->total);
			continue;
		}
		cut->nodes[i] = copy_node(cut, node);
		if (cut->nodes[i] == FUNCTION_TREE_NONE)
			return false;
	}
	return true;
}

/* Gives what was left out to a child "other" of each node. */
static bool add_folded(struct cut *cut)
{
	for (size_t i = 0; i < cut->tree->node_count; i++) {
		uint32_t other;

		if (cut->folded[i] <= 0)
			continue;
		other = function_tree_child(cut->copy, cut->nodes[i], other_name);
		if (other == FUNCTION_TREE_NONE)
			return false;
		cut->copy->nodes[other].self =
			function_tree_sum(cut->copy->nodes[other].self, cut->folded[i]);
	}
	return true;
}

int function_tree_truncate(const struct function_tree *tree, int64_t max_nodes, struct arena *arena,
                           struct function_tree **out, struct error *err)
{
	struct cut cut = {
		.tree = tree,
		.nodes = arena_array(arena, tree->node_count, sizeof(*cut.nodes)),
		.names = arena_array(arena, tree->name_count, sizeof(*cut.names)),
		.folded = arena_array(arena, tree->node_count, sizeof(*cut.folded)),
	};
	int64_t min_value;

	if (!cut.nodes || !cut.names || !cut.folded)
		return arena_error(arena, err);
	if (function_tree_min_value(tree, max_nodes, &min_value, err) < 0 ||
	    function_tree_new(arena, &cut.copy, err) < 0)
		return -1;
	if (!copy_kept(&cut, min_value) || !add_folded(&cut))
		return arena_error(arena, err);
	if (function_tree_finish(cut.copy, err) < 0)
		return -1;
	*out = cut.copy;
	return 0;
}
