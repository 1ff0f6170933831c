#include "profile/path_tree.h"

#include <assert.h>

#include "profile/function_tree_index.h"
#include "profile/path_values.h"
#include "profile/value_heap.h"

/* Sums that wait until all of their part are there. */
struct waiting {
	struct path_sums sums;
	int64_t divisor;
	struct waiting *next;
};

struct path_tree {
	struct arena *arena;
	struct path_table *table; /* of the sums; NULL: none were added */
	struct path_values self;
	struct waiting *first;
	struct waiting **last;
};

int path_tree_new(struct arena *arena, struct path_tree **out, struct error *err)
{
	struct path_tree *tree = arena_alloc(arena, sizeof(*tree));

	if (!tree)
		return arena_error(arena, err);
	tree->arena = arena;
	tree->self.arena = arena;
	tree->last = &tree->first;
	*out = tree;
	return 0;
}

void path_tree_free(struct path_tree *tree)
{
	if (tree)
		path_table_release(tree->table);
}

/* ---- adding ---- */

static bool add_all(struct path_values *values, const struct path_sums *sums)
{
	if (!path_values_reserve(values, path_table_count(sums->table)))
		return false;
	for (size_t i = 0; i < sums->count; i++) {
		int64_t *value = path_values_at(values, sums->paths[i]);

		if (!value)
			return false;
		*value = path_values_sum(*value, sums->sums[i]);
	}
	return true;
}

/* Keeps a copy. */
static bool add_waiting(struct path_tree *tree, const struct path_sums *sums, int64_t divisor)
{
	struct waiting *waiting = arena_alloc(tree->arena, sizeof(*waiting));
	uint32_t *paths = arena_array_raw(tree->arena, sums->count, sizeof(*paths));
	int64_t *values = arena_array_raw(tree->arena, sums->count, sizeof(*values));

	if (!waiting || !paths || !values)
		return false;
	memcpy(paths, sums->paths, sums->count * sizeof(*paths));
	memcpy(values, sums->sums, sums->count * sizeof(*values));
	waiting->sums = *sums;
	waiting->sums.paths = paths;
	waiting->sums.sums = values;
	waiting->divisor = divisor;
	*tree->last = waiting;
	tree->last = &waiting->next;
	return true;
}

int path_tree_add(struct path_tree *tree, const struct path_sums *sums, int64_t divisor,
                  struct error *err)
{
	if (!tree->table)
		tree->table = path_table_hold(sums->table);
	assert(tree->table == sums->table && divisor > 0);
	if (sums->count > 0 &&
	    !(divisor == 1 ? add_all(&tree->self, sums) : add_waiting(tree, sums, divisor)))
		return arena_error(tree->arena, err);
	return 0;
}

/* Adds a part's values, divided; what is below 1 then is left out. */
static bool add_divided(struct path_tree *tree, const struct path_values *part, int64_t divisor)
{
	for (uint32_t path = path_values_next(part, 0); path != PATH_NONE;
	     path = path_values_next(part, path)) {
		const int64_t value =
			function_tree_scale(*path_values_find(part, path), 1, divisor);
		int64_t *self;

		if (value <= 0)
			continue;
		self = path_values_at(&tree->self, path);
		if (!self)
			return false;
		*self = path_values_sum(*self, value);
	}
	return true;
}

/* Takes the sums of the first part out of the list, and adds them up. */
static bool take_part(struct path_tree *tree, struct path_values *part)
{
	const uint32_t number = tree->first->sums.part;
	struct waiting **at = &tree->first;

	while (*at) {
		if ((*at)->sums.part != number) {
			at = &(*at)->next;
			continue;
		}
		if (!add_all(part, &(*at)->sums))
			return false;
		*at = (*at)->next;
	}
	return true;
}

static bool add_parts(struct path_tree *tree)
{
	struct path_values part = { .arena = tree->arena };

	if (tree->first && !path_values_reserve(&tree->self, path_table_count(tree->table)))
		return false;
	while (tree->first) {
		const int64_t divisor = tree->first->divisor;

		path_values_clear(&part);
		if (!take_part(tree, &part) || !add_divided(tree, &part, divisor))
			return false;
	}
	return true;
}

/* ---- cutting ---- */

/* A merge while the tree that is returned is made. */
struct cutting {
	struct path_tree *from;
	struct paths paths;
	struct path_values totals;
	int64_t min_value;
	uint32_t other;            /* the name "other", or PATH_NONE */
	struct path_values placed; /* by path: its node, of those that are kept */
	uint32_t *names;           /* by name: that of the tree + 1; 0: not asked yet */
	size_t name_count;
	struct function_tree *tree;
};

static const struct path *path_at(const struct cutting *cutting, uint32_t path)
{
	return SYMBOLS_AT(cutting->paths.paths, path);
}

/* Leaves what begins with the call site. */
static void keep_call_site(const struct cutting *cutting, const struct path_cut *cut)
{
	const struct path_values *self = &cutting->from->self;
	const uint32_t site =
		path_table_find(cutting->from->table, cut->call_site, cut->call_site_count);

	for (uint32_t path = path_values_next(self, 0); path != PATH_NONE;
	     path = path_values_next(self, path)) {
		uint32_t up = path;

		/* what is above a path has a smaller id */
		while (up > site && up != 0)
			up = path_at(cutting, up)->parent;
		if (site == PATH_NONE || up != site)
			path_values_drop(self, path);
	}
}

/* Each total goes to its parent, which comes later on the way down. */
static bool sum_totals(struct cutting *cutting)
{
	struct path_values *totals = &cutting->totals;

	totals->arena = cutting->from->arena;
	if (!path_values_copy(totals, &cutting->from->self) || !path_values_reserve(totals, 1) ||
	    !path_values_at(totals, 0))
		return false;
	for (uint32_t path = path_values_previous(totals, PATH_NONE);
	     path != 0 && path != PATH_NONE; path = path_values_previous(totals, path)) {
		int64_t *parent = path_values_at(totals, path_at(cutting, path)->parent);

		if (!parent)
			return false;
		*parent = path_values_sum(*parent, *path_values_find(totals, path));
	}
	return true;
}

/* The N-th largest total, the root's left out; 0 when there are no more. */
static bool find_min_value(struct cutting *cutting, int64_t max_nodes)
{
	const struct path_values *totals = &cutting->totals;
	const size_t count = path_values_count(totals) - 1;
	struct value_heap heap = { .capacity = max_nodes > 0 ? (size_t)max_nodes : 0 };

	if (max_nodes < 1 || (uint64_t)max_nodes >= count)
		return true;
	heap.values = arena_array_raw(totals->arena, heap.capacity, sizeof(*heap.values));
	if (!heap.values)
		return false;
	/* parents first: most of what comes then is smaller than what is there */
	for (uint32_t path = path_values_next(totals, 0); path != PATH_NONE;
	     path = path_values_next(totals, path))
		(void)value_heap_offer(&heap, *path_values_find(totals, path));
	cutting->min_value = value_heap_threshold(&heap);
	return true;
}

/* The node of a path that is kept, below that of its parent. */
static bool place_path(struct cutting *cutting, uint32_t path, uint32_t parent)
{
	struct function_tree *tree = cutting->tree;
	const int64_t *self = path_values_find(&cutting->from->self, path);
	const uint32_t name = path_at(cutting, path)->name;
	uint32_t *known = &cutting->names[name];
	int64_t *placed = path_values_at(&cutting->placed, path);
	uint32_t node;

	if (*known == 0)
		*known = function_tree_add_name(tree, *SYMBOLS_AT(cutting->paths.names, name)) + 1;
	if (*known == 0 || !placed)
		return false;
	node = function_tree_add_child(tree, parent, *known - 1);
	if (node == FUNCTION_TREE_NONE)
		return false;
	tree->nodes[node].self = self ? *self : 0;
	*placed = node;
	return true;
}

/*
 * Parents first. Until the tree is finished, a node's total is the sum of what was folded
 * below it.
 */
static bool place_paths(struct cutting *cutting)
{
	const struct path_values *totals = &cutting->totals;

	for (uint32_t path = path_values_next(totals, 0); path != PATH_NONE;
	     path = path_values_next(totals, path)) {
		const struct path *own = path_at(cutting, path);
		const int64_t *parent = path_values_find(&cutting->placed, own->parent);
		const int64_t total = *path_values_find(totals, path);
		struct function_node *above;

		if (!parent)
			continue;
		if (total >= cutting->min_value || own->name == cutting->other) {
			if (!place_path(cutting, path, (uint32_t)*parent))
				return false;
			continue;
		}
		above = &cutting->tree->nodes[*parent];
		above->total = path_values_sum(above->total, total);
	}
	return true;
}

/* A child "other" for what was folded. */
static bool place_folded(struct function_tree *tree)
{
	const size_t count = tree->node_count;

	for (uint32_t i = 0; i < count; i++) {
		const int64_t folded = tree->nodes[i].total;
		uint32_t other;

		if (folded <= 0)
			continue;
		other = function_tree_child(tree, i, STR("other"));
		if (other == FUNCTION_TREE_NONE)
			return false;
		tree->nodes[other].self = path_values_sum(tree->nodes[other].self, folded);
	}
	return true;
}

/* Room to place all, and the root. */
static bool begin_placing(struct cutting *cutting)
{
	struct arena *arena = cutting->from->arena;
	int64_t *root;

	cutting->placed.arena = arena;
	if (!path_values_reserve(&cutting->placed,
	                         (uint32_t)(cutting->totals.capacity << PATH_VALUES_BITS)))
		return false;
	root = path_values_at(&cutting->placed, 0);
	if (!root)
		return false;
	*root = 0;
	cutting->names = arena_array(arena, cutting->name_count, sizeof(*cutting->names));
	return cutting->names != NULL;
}

static int cut_tree(struct cutting *cutting, const struct path_cut *cut, struct error *err)
{
	struct path_tree *from = cutting->from;

	if (!add_parts(from))
		return arena_error(from->arena, err);
	cutting->paths = path_table_view(from->table);
	cutting->name_count = path_table_name_count(from->table);
	cutting->other = path_table_find_name(from->table, STR("other"));
	if (cut->call_site_count > 0)
		keep_call_site(cutting, cut);
	if (!sum_totals(cutting) || !find_min_value(cutting, cut->max_nodes) ||
	    !begin_placing(cutting) || !place_paths(cutting) || !place_folded(cutting->tree))
		return arena_error(from->arena, err);
	return 0;
}

int path_tree_finish(struct path_tree *tree, const struct path_cut *cut, struct function_tree **out,
                     struct error *err)
{
	struct cutting cutting = { .from = tree };

	if (function_tree_new(tree->arena, &cutting.tree, err) < 0 ||
	    (tree->table && cut_tree(&cutting, cut, err) < 0) ||
	    function_tree_finish(cutting.tree, err) < 0)
		return -1;
	*out = cutting.tree;
	return 0;
}
