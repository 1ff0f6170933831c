/*
 * A tree of function names with values: what flame graphs are made of.
 *
 * Shape    node 0 is the synthetic root. A node is a name under a parent; children of one
 *          parent have distinct names. Parents have smaller ids than children. Totals are
 *          valid after function_tree_finish(); children are then linked in ascending
 *          order of their names' bytes.
 * Units    values as the profile's; sums wrap.
 * Errors   ERROR_TOO_LARGE or ERROR_UNAVAILABLE when the arena is full. A tree that
 *          failed is of no further use.
 * Threads  none.
 * Source   read specification, 3.7.1 to 3.7.3
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "profile/symbols.h"

#define FUNCTION_TREE_NONE UINT32_MAX

struct function_node {
	uint32_t parent;
	uint32_t name;        /* index into names */
	uint32_t first_child; /* FUNCTION_TREE_NONE at the end; see above */
	uint32_t next_sibling;
	int64_t self;
	int64_t total;
};

struct function_tree {
	struct arena *arena;
	struct function_node *nodes;
	size_t node_count;
	struct str *names; /* each once; names[0] is the root's: "" */
	size_t name_count;
	struct function_tree_index *index; /* by name, and by (parent, name) */
};

int function_tree_new(struct arena *arena, struct function_tree **out, struct error *err);

/*
 * The node of a path's next frame; made when it is new. FUNCTION_TREE_NONE: arena full.
 * Name bytes are copied.
 */
uint32_t function_tree_child(struct function_tree *tree, uint32_t parent, struct str name);

/* The id of a name that the tree has, or FUNCTION_TREE_NONE. */
uint32_t function_tree_find_name(const struct function_tree *tree, struct str name);

/* BASENAME!0xADDRESS, unknown!0x... without a file. {NULL, 0}: arena full. */
struct str function_tree_bare_name(struct str mapping_file, uint64_t address, struct arena *arena);

/* value * numerator / denominator (> 0), rounded half up; what does not fit wraps. */
int64_t function_tree_scale(int64_t value, int64_t numerator, int64_t denominator);

/* Computes totals and links children in order. */
int function_tree_finish(struct function_tree *tree, struct error *err);

/*
 * The N-th largest total (specification, 3.7.2): nodes below it are folded. 0 when
 * nothing is.
 */
int function_tree_min_value(const struct function_tree *tree, int64_t max_nodes, int64_t *out,
                            struct error *err);

/*
 * A new, finished tree with what lies below the N-th largest total folded into
 * "other".
 */
int function_tree_truncate(const struct function_tree *tree, int64_t max_nodes, struct arena *arena,
                           struct function_tree **out, struct error *err);

/* Appends the `tree` bytes of 3.7.3 (nothing for an empty tree). */
void function_tree_encode(const struct function_tree *tree, struct strbuf *out);

/* ERROR_INVALID for bytes that are no tree. Gives a finished tree. */
int function_tree_decode(struct str bytes, struct arena *arena, struct function_tree **out,
                         struct error *err);
