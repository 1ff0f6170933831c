/*
 * Function trees made of text, and looked into by text, for tests.
 */
#pragma once

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/function_tree.h"

struct tree_path {
	const char *path; /* "main;work" */
	int64_t self;
};

static inline void tree_add(struct function_tree *tree, const char *path, int64_t self)
{
	struct str rest = str_of(path);
	struct str name;
	uint32_t node = 0;

	while (str_split(&rest, ';', &name)) {
		node = function_tree_child(tree, node, name);
		assert(node != FUNCTION_TREE_NONE);
	}
	tree->nodes[node].self += self;
}

static inline struct function_tree *tree_of(struct arena *arena, const struct tree_path *paths,
                                            size_t count)
{
	struct function_tree *tree = NULL;
	struct error err;

	if (function_tree_new(arena, &tree, &err) < 0)
		abort();
	for (size_t i = 0; i < count; i++)
		tree_add(tree, paths[i].path, paths[i].self);
	if (function_tree_finish(tree, &err) < 0)
		abort();
	return tree;
}

/* The total of a path, or -1 when the tree has no such node. */
static inline int64_t tree_total(const struct function_tree *tree, const char *path)
{
	struct str rest = str_of(path);
	struct str name;
	uint32_t node = 0;

	while (str_split(&rest, ';', &name)) {
		node = tree->nodes[node].first_child;
		while (node != FUNCTION_TREE_NONE &&
		       !str_equal(tree->names[tree->nodes[node].name], name))
			node = tree->nodes[node].next_sibling;
		if (node == FUNCTION_TREE_NONE)
			return -1;
	}
	return tree->nodes[node].total;
}

/* Some paths of up to six frames over few names, "other", "total" and "" among them. */
static inline struct function_tree *tree_random(struct arena *arena, int path_count)
{
	static const char *const names[] = {
		"a", "b", "c", "other", "total", "", "long name", "z"
	};
	struct function_tree *tree = tree_of(arena, NULL, 0);
	struct error err;

	for (int i = 0; i < path_count; i++) {
		uint32_t node = 0;

		for (int depth = 1 + rand() % 6; depth > 0; depth--)
			node = function_tree_child(tree, node, str_of(names[rand() % 8]));
		tree->nodes[node].self += 1 + rand() % 100;
	}
	if (function_tree_finish(tree, &err) < 0)
		abort();
	return tree;
}
