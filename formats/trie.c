#include "formats/trie.h"

#include "formats/text_profile.h"
#include "formats/tree_node.h"

/* A node whose children are not all there yet. */
struct open_node {
	uint64_t missing;  /* children */
	size_t key_length; /* of the key so far, with this node's part */
};

struct reader {
	struct profile_builder builder;
	struct arena *arena;

	struct open_node *open;
	size_t depth;
	size_t capacity;

	char *key; /* of the last node */
	size_t key_length;
	size_t key_capacity;
	size_t key_bytes; /* of all nodes with a value */
};

static int extend_key(struct reader *reader, struct str part, struct error *err)
{
	const size_t length = reader->key_length + part.length;

	if (length > reader->key_capacity) {
		const size_t capacity = 2 * length;
		char *grown =
			arena_resize(reader->arena, reader->key, reader->key_capacity, capacity);

		if (!grown)
			return arena_error(reader->arena, err);
		reader->key = grown;
		reader->key_capacity = capacity;
	}
	if (part.length > 0)
		memcpy(reader->key + reader->key_length, part.data, part.length);
	reader->key_length = length;
	return 0;
}

static int add_stack(struct reader *reader, uint64_t value, struct error *err)
{
	const struct str key = { reader->key, reader->key_length };

	if (key.length > TRIE_KEYS_MAX - reader->key_bytes)
		return error_set(err, ERROR_TOO_LARGE,
		                 "the keys of the trie have more than %zu bytes", TRIE_KEYS_MAX);
	reader->key_bytes += key.length;
	if (profile_builder_push_path(&reader->builder, key, err) < 0)
		return -1;
	return profile_builder_add(&reader->builder, value, err);
}

/* The next node belongs to the deepest one that misses a child. */
static void close_full_nodes(struct reader *reader)
{
	while (reader->depth > 0 && reader->open[reader->depth - 1].missing == 0)
		reader->depth--;
	reader->key_length = reader->depth > 0 ? reader->open[reader->depth - 1].key_length : 0;
}

static int take_node(struct reader *reader, const struct tree_node *node, struct error *err)
{
	const size_t depth = reader->depth;

	if (extend_key(reader, node->name, err) < 0)
		return -1;
	if (!ARENA_GROW(reader->arena, reader->open, depth, reader->capacity))
		return arena_error(reader->arena, err);
	if (depth > 0)
		reader->open[depth - 1].missing--;
	reader->open[reader->depth++] = (struct open_node){
		.missing = node->child_count,
		.key_length = reader->key_length,
	};
	if (node->value > 0 && add_stack(reader, node->value, err) < 0)
		return -1;
	close_full_nodes(reader);
	return 0;
}

int trie_decode(const struct format_input *input, struct format_output *out, struct error *err)
{
	struct reader reader = { .arena = input->arena };
	struct tree_node_reader nodes;
	struct tree_node node;
	int more;

	*out = (struct format_output){ .stage = FORMAT_PARSING };
	tree_node_reader_init(&nodes, input->body, 0);
	profile_builder_init(&reader.builder, input->arena,
	                     &(struct profile_builder_limits){
				     .max_stacks = input->limits->max_samples,
				     .max_depth = input->limits->max_depth,
			     });
	reader.builder.names = PROFILE_BUILDER_COPIES;
	while ((more = tree_node_next(&nodes, &node, err)) > 0)
		if (take_node(&reader, &node, err) < 0)
			return -1;
	return more < 0 ? -1 : text_profile_make(&reader.builder, input, out, err);
}
