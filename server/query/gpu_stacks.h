/*
 * Stacks as lists of names, the same whatever window of the store has them.
 *
 * Shape    a stack is a node of a tree of names: the same names are the same node. Frames
 *          of the Python interpreter's own C code are left out, inlined calls are frames.
 * Errors   FUNCTION_TREE_NONE, false: the arena is full.
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "profile/function_tree.h"
#include "storage/store.h"

struct gpu_stacks {
	struct arena *arena;
	struct function_tree *tree;
	uint32_t window; /* of the memo */
	uint32_t *nodes; /* by stack of that window: its node + 1; 0: not known yet */
	size_t capacity;
	uint32_t *way; /* from a stack up to one that is known */
	size_t way_capacity;
};

int gpu_stacks_init(struct gpu_stacks *stacks, struct arena *arena, struct error *err);

/* What is asked next is of another question's windows. */
void gpu_stacks_begin_scan(struct gpu_stacks *stacks);

/* The node of a stack of these samples. */
uint32_t gpu_stacks_node(struct gpu_stacks *stacks, const struct store_samples *samples,
                         uint32_t stack);

/* Names of a stack, the outermost first. */
struct gpu_stack {
	const struct str *names;
	size_t count;
};

bool gpu_stacks_names(const struct gpu_stacks *stacks, uint32_t node, struct gpu_stack *out);
