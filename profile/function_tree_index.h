/*
 * The inside of a function tree, for the files that build one.
 */
#pragma once

#include "profile/function_tree.h"
#include "profile/intern.h"

struct function_tree_index {
	struct intern names;
	struct intern children; /* (parent, name); id + 1 is the node */
	size_t name_capacity;
	size_t node_capacity;
	uint64_t secret;
	void *scratch; /* for one call at a time; kept for the next one */
	size_t scratch_size;
};

/*
 * The id of a name, whose bytes are copied when it is new. FUNCTION_TREE_NONE: arena
 * full.
 */
uint32_t function_tree_add_name(struct function_tree *tree, struct str name);

/* The node of `name` (an id) under `parent`. FUNCTION_TREE_NONE: arena full. */
uint32_t function_tree_add_child(struct function_tree *tree, uint32_t parent, uint32_t name);

/* `size` bytes, not zeroed, good until the next call. NULL: arena full. */
void *function_tree_scratch(const struct function_tree *tree, size_t size);

static inline int64_t function_tree_sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}
