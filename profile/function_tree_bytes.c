/*
 * The tree as bytes: nodes depth first, children in descending order of their names.
 *
 *	uvarint(name length)  name  uvarint(self)  uvarint(number of children)
 *
 * beginning with the synthetic root (name "", self 0).
 */
#include "base/mem.h"
#include "base/varint.h"
#include "profile/function_tree.h"

static void put_node(const struct function_tree *tree, const struct function_node *node,
                     uint64_t child_count, struct strbuf *out)
{
	const struct str name = tree->names[node->name];
	uint8_t number[VARINT_MAX];

	strbuf_add(out, number, varint_write(number, name.length));
	strbuf_add_str(out, name);
	strbuf_add(out, number, varint_write(number, (uint64_t)node->self));
	strbuf_add(out, number, varint_write(number, child_count));
}

void function_tree_encode(const struct function_tree *tree, struct strbuf *out)
{
	/* a tenth of what the tree itself was allowed to take */
	CLEANUP(mem_freep) uint32_t *pending = mem_zalloc(tree->node_count, sizeof(*pending));
	size_t pending_count = 1;

	if (tree->node_count == 1)
		return;
	while (pending_count > 0) {
		const struct function_node *node = &tree->nodes[pending[--pending_count]];
		const size_t before = pending_count;

		for (uint32_t i = node->first_child; i != FUNCTION_TREE_NONE;
		     i = tree->nodes[i].next_sibling)
			pending[pending_count++] = i;
		put_node(tree, node, pending_count - before, out);
	}
}

/* A node whose children are still being read. */
struct open_node {
	uint32_t node;
	uint64_t missing;
};

struct decoder {
	const uint8_t *at;
	const uint8_t *end;
	struct function_tree *tree;
	struct open_node *open;
	size_t open_count;
	size_t open_capacity;
};

static int malformed(struct error *err)
{
	return error_set(err, ERROR_INVALID, "malformed tree");
}

/* Reads one node under `parent` (FUNCTION_TREE_NONE: it is the root). */
static int read_node(struct decoder *decoder, uint32_t parent, struct error *err)
{
	struct function_tree *tree = decoder->tree;
	uint64_t length;
	uint64_t self;
	uint64_t children;
	struct str name;
	uint32_t node = 0;

	if (!varint_read(&decoder->at, decoder->end, &length) ||
	    length > (uint64_t)(decoder->end - decoder->at))
		return malformed(err);
	name = str_make(decoder->at, (size_t)length);
	decoder->at += length;
	if (!varint_read(&decoder->at, decoder->end, &self) ||
	    !varint_read(&decoder->at, decoder->end, &children))
		return malformed(err);
	if (parent != FUNCTION_TREE_NONE) {
		node = function_tree_child(tree, parent, name);
		if (node == FUNCTION_TREE_NONE)
			return arena_error(tree->arena, err);
		tree->nodes[node].self = (int64_t)((uint64_t)tree->nodes[node].self + self);
	}
	if (children == 0)
		return 0;
	if (!ARENA_GROW(tree->arena, decoder->open, decoder->open_count, decoder->open_capacity))
		return arena_error(tree->arena, err);
	decoder->open[decoder->open_count++] = (struct open_node){ node, children };
	return 0;
}

int function_tree_decode(struct str bytes, struct arena *arena, struct function_tree **out,
                         struct error *err)
{
	struct decoder decoder = { .at = (const uint8_t *)bytes.data };

	if (function_tree_new(arena, &decoder.tree, err) < 0)
		return -1;
	if (bytes.length >= 2) {
		decoder.end = decoder.at + bytes.length;
		if (read_node(&decoder, FUNCTION_TREE_NONE, err) < 0)
			return -1;
		while (decoder.open_count > 0) {
			struct open_node *last = &decoder.open[decoder.open_count - 1];
			const uint32_t parent = last->node;

			if (--last->missing == 0)
				decoder.open_count--;
			if (read_node(&decoder, parent, err) < 0)
				return -1;
		}
		if (decoder.at != decoder.end)
			return malformed(err);
	}
	if (function_tree_finish(decoder.tree, err) < 0)
		return -1;
	*out = decoder.tree;
	return 0;
}
