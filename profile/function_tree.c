#include <stdlib.h>

#include "base/uuid.h"
#include "profile/function_tree_index.h"

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
uint32_t function_tree_add_name(struct function_tree *tree, struct str name)
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

uint32_t function_tree_add_child(struct function_tree *tree, uint32_t parent, uint32_t name)
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
	if (function_tree_add_name(tree, STR("")) == FUNCTION_TREE_NONE ||
	    !ARENA_GROW(arena, tree->nodes, tree->node_count, index->node_capacity))
		return arena_error(arena, err);
	tree->nodes[tree->node_count++] = new_node(FUNCTION_TREE_NONE, 0);
	*out = tree;
	return 0;
}

uint32_t function_tree_child(struct function_tree *tree, uint32_t parent, struct str name)
{
	const uint32_t id = function_tree_add_name(tree, name);

	return id == FUNCTION_TREE_NONE ? id : function_tree_add_child(tree, parent, id);
}

struct str function_tree_bare_name(struct str mapping_file, uint64_t address, struct arena *arena)
{
	static const char before_digits[3] = { '!', '0', 'x' };
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
	memcpy(bytes + base.length, before_digits, sizeof(before_digits));
	memcpy(bytes + base.length + 3, digits + at, sizeof(digits) - at);
	return str_make(bytes, base.length + 3 + sizeof(digits) - at);
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

void *function_tree_scratch(const struct function_tree *tree, size_t size)
{
	struct function_tree_index *index = tree->index;

	if (size > index->scratch_size) {
		index->scratch = arena_alloc_raw(tree->arena, size);
		index->scratch_size = index->scratch ? size : 0;
	}
	return index->scratch;
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

/*
 * Nodes in descending order of their names, each put in front of its parent's
 * children.
 */
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
	char *scratch = function_tree_scratch(tree, names * sizeof(struct sortable_name) +
	                                                    (2 * names + tree->node_count) *
	                                                            sizeof(uint32_t));
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

		parent->total = function_tree_sum(parent->total, tree->nodes[i].total);
	}
	return 0;
}
