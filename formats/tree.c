#include "formats/tree.h"

#include "formats/text_profile.h"
#include "formats/tree_node.h"

/* A node whose children are not all there yet. */
struct open_node {
	uint32_t frame;
	uint32_t missing; /* children */
};

struct reader {
	struct tree_node_reader nodes;
	struct profile_builder builder;
	struct arena *arena;
	struct open_node *open; /* the root first */
	size_t depth;
	size_t capacity;
};

static int next_node(struct reader *reader, struct tree_node *out, struct error *err)
{
	const int more = tree_node_next(&reader->nodes, out, err);

	if (more == 0)
		return error_set(err, ERROR_INVALID, "EOF: the tree ends early");
	if (more > 0 && out->child_count > TREE_CHILDREN_MAX)
		return error_set(err, ERROR_INVALID,
		                 "tree node children count %llu exceeds maximum %d",
		                 (unsigned long long)out->child_count, TREE_CHILDREN_MAX);
	return more < 0 ? -1 : 0;
}

static int add_stack(struct reader *reader, uint64_t value, struct error *err)
{
	for (size_t i = 1; i < reader->depth && !profile_builder_is_full(&reader->builder); i++)
		if (profile_builder_push_frame(&reader->builder, reader->open[i].frame, err) < 0)
			return -1;
	return profile_builder_add(&reader->builder, value, err);
}

static int open_node(struct reader *reader, const struct tree_node *node, struct error *err)
{
	const size_t depth = reader->depth;
	uint32_t frame = 0;

	if (depth > 0 && profile_builder_frame(&reader->builder, node->name, &frame, err) < 0)
		return -1;
	if (!ARENA_GROW(reader->arena, reader->open, depth, reader->capacity))
		return arena_error(reader->arena, err);
	if (depth > 0)
		reader->open[depth - 1].missing--;
	reader->open[reader->depth++] = (struct open_node){
		.frame = frame,
		.missing = (uint32_t)node->child_count,
	};
	return depth > 0 && node->value > 0 ? add_stack(reader, node->value, err) : 0;
}

/* The next node belongs to the deepest one that misses a child. */
static void close_full_nodes(struct reader *reader)
{
	while (reader->depth > 0 && reader->open[reader->depth - 1].missing == 0)
		reader->depth--;
}

int tree_decode(const struct format_input *input, struct format_output *out, struct error *err)
{
	struct reader reader = { .arena = input->arena };
	struct tree_node node;

	*out = (struct format_output){ .stage = FORMAT_PARSING };
	tree_node_reader_init(&reader.nodes, input->body, TREE_NAME_MAX);
	profile_builder_init(&reader.builder, input->arena,
	                     &(struct profile_builder_limits){
				     .max_stacks = input->limits->max_samples,
				     .max_depth = input->limits->max_depth,
				     .max_frames = TREE_FRAMES_MAX,
			     });
	do {
		if (next_node(&reader, &node, err) < 0 || open_node(&reader, &node, err) < 0)
			return -1;
		close_full_nodes(&reader);
	} while (reader.depth > 0);
	return text_profile_make(&reader.builder, input, out, err);
}
