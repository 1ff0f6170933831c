#include "collector/live/range_tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/uuid.h"

#define NONE        0
#define FIRST_NODES 16

void range_tree_init(struct range_tree *tree, struct budget *budget)
{
	const struct uuid random = uuid_random();

	*tree = (struct range_tree){ .budget = budget };
	memcpy(&tree->key, random.bytes, sizeof(tree->key));
}

void range_tree_fini(struct range_tree *tree)
{
	budget_give(tree->budget, tree->capacity * sizeof(*tree->nodes));
	free(tree->nodes);
	*tree = (struct range_tree){ .budget = tree->budget, .key = tree->key };
}

/* ---- nodes ---- */

static bool grow(struct range_tree *tree)
{
	const uint32_t capacity = tree->capacity ? tree->capacity * 2 : FIRST_NODES;

	if (capacity < tree->capacity ||
	    !budget_take(tree->budget, (capacity - tree->capacity) * sizeof(*tree->nodes)))
		return false;
	tree->nodes = mem_resize(tree->nodes, capacity, sizeof(*tree->nodes));
	tree->capacity = capacity;
	return true;
}

/* One that is not in use, or NONE. */
static uint32_t take_node(struct range_tree *tree)
{
	const uint32_t node = tree->unused;

	if (node != NONE) {
		tree->unused = tree->nodes[node].left;
		return node;
	}
	if (tree->used + 1 >= tree->capacity && !grow(tree))
		return NONE;
	return ++tree->used;
}

static void give_node(struct range_tree *tree, uint32_t node)
{
	tree->nodes[node] = (struct address_range){ .left = tree->unused };
	tree->unused = node;
	if (--tree->count == 0)
		range_tree_fini(tree);
}

static uint64_t end_of(const struct address_range *range)
{
	return range->start + range->bytes;
}

/* ---- the tree ---- */

/* Where a node of that start and priority belongs. */
static uint32_t *place(struct range_tree *tree, const struct address_range *range)
{
	uint32_t *link = &tree->root;

	while (*link != NONE && tree->nodes[*link].priority >= range->priority) {
		struct address_range *node = &tree->nodes[*link];

		link = range->start < node->start ? &node->left : &node->right;
	}
	return link;
}

/* The part of a tree below `start`, and the rest of it. */
static void split(struct range_tree *tree, uint32_t root, uint64_t start, uint32_t *out_below,
                  uint32_t *out_rest)
{
	while (root != NONE) {
		struct address_range *node = &tree->nodes[root];

		if (node->start < start) {
			*out_below = root;
			out_below = &node->right;
		} else {
			*out_rest = root;
			out_rest = &node->left;
		}
		root = node->start < start ? node->right : node->left;
	}
	*out_below = NONE;
	*out_rest = NONE;
}

/* The tree of two of which one lies below the other. */
static uint32_t join(struct range_tree *tree, uint32_t below, uint32_t above)
{
	uint32_t root = NONE;
	uint32_t *link = &root;

	while (below != NONE && above != NONE) {
		if (tree->nodes[below].priority >= tree->nodes[above].priority) {
			*link = below;
			link = &tree->nodes[below].right;
			below = *link;
		} else {
			*link = above;
			link = &tree->nodes[above].left;
			above = *link;
		}
	}
	*link = below != NONE ? below : above;
	return root;
}

bool range_tree_put(struct range_tree *tree, const struct address_range *range)
{
	const uint32_t number = take_node(tree);
	struct address_range *node;
	uint32_t *link;

	if (number == NONE)
		return false;
	node = &tree->nodes[number];
	*node = *range;
	node->priority = (uint32_t)hash64(tree->key, &range->start, sizeof(range->start));
	link = place(tree, node);
	split(tree, *link, node->start, &node->left, &node->right);
	*link = number;
	tree->count++;
	return true;
}

const struct address_range *range_tree_find(const struct range_tree *tree, uint64_t address)
{
	const struct address_range *found = NULL;
	uint32_t number = tree->root;

	while (number != NONE) {
		const struct address_range *node = &tree->nodes[number];

		if (end_of(node) > address)
			found = node;
		number = end_of(node) > address ? node->left : node->right;
	}
	return found;
}

bool range_tree_take(struct range_tree *tree, uint64_t start, struct address_range *out)
{
	uint32_t *link = &tree->root;
	uint32_t number;

	while (*link != NONE && tree->nodes[*link].start != start) {
		struct address_range *node = &tree->nodes[*link];

		link = start < node->start ? &node->left : &node->right;
	}
	number = *link;
	if (number == NONE)
		return false;
	*out = tree->nodes[number];
	*link = join(tree, out->left, out->right);
	give_node(tree, number);
	return true;
}

/* ---- check ---- */

static void check_part(const struct range_tree *tree, const struct address_range *node,
                       uint32_t part)
{
	const struct address_range *top = &tree->nodes[part];

	if (part == NONE)
		return;
	assert(part <= tree->used && top->priority <= node->priority);
	assert((top->start < node->start) == (part == node->left));
}

void range_tree_check(const struct range_tree *tree)
{
	const struct address_range *range;
	uint64_t end = 0;
	size_t count = 0;

	while ((range = range_tree_find(tree, end))) {
		assert(range->start >= end && range->bytes > 0);
		assert(range->bytes <= UINT64_MAX - range->start);
		check_part(tree, range, range->left);
		check_part(tree, range, range->right);
		end = end_of(range);
		count++;
	}
	assert(count == tree->count);
	assert(budget_used(tree->budget) >= tree->capacity * sizeof(*tree->nodes));
}
