#include "formats/tree_node.h"

#include "base/varint.h"

static const uint8_t *end_of(const struct tree_node_reader *reader)
{
	return (const uint8_t *)reader->body.data + reader->body.length;
}

void tree_node_reader_init(struct tree_node_reader *reader, struct str body, size_t name_max)
{
	if (!body.data)
		body = STR("");
	*reader = (struct tree_node_reader){
		.body = body,
		.at = (const uint8_t *)body.data,
		.name_max = name_max,
	};
}

static int cut(const struct tree_node_reader *reader, const uint8_t *node, const char *what,
               struct error *err)
{
	return error_set(err, ERROR_INVALID, "unexpected EOF: the node at byte %zu has no %s",
	                 (size_t)(node - (const uint8_t *)reader->body.data), what);
}

int tree_node_next(struct tree_node_reader *reader, struct tree_node *out, struct error *err)
{
	const uint8_t *const start = reader->at;
	const uint8_t *const end = end_of(reader);
	const uint8_t *at = start;
	struct tree_node node;
	uint64_t length;

	if (at == end)
		return 0;
	if (!varint_read(&at, end, &length))
		return cut(reader, start, "length of its name", err);
	if (reader->name_max > 0 && length > reader->name_max)
		return error_set(err, ERROR_INVALID,
		                 "tree node name length %llu exceeds maximum %zu",
		                 (unsigned long long)length, reader->name_max);
	if (length > (uint64_t)(end - at))
		return cut(reader, start, "whole name", err);
	node.name = str_make(at, (size_t)length);
	at += length;
	if (!varint_read(&at, end, &node.value))
		return cut(reader, start, "value", err);
	if (!varint_read(&at, end, &node.child_count))
		return cut(reader, start, "number of children", err);
	reader->at = at;
	*out = node;
	return 1;
}
