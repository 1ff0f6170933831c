/*
 * What trie and tree have in common: how a node is written.
 *
 * Errors   ERROR_INVALID with the offset of the node that is cut, or whose number is none.
 * Threads  none.
 * Source   ingest specification, 3.6
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

struct tree_node {
	struct str name; /* a view into the body */
	uint64_t value;
	uint64_t child_count;
};

struct tree_node_reader {
	struct str body;
	const uint8_t *at;
	size_t name_max; /* 0: as long as the body */
};

void tree_node_reader_init(struct tree_node_reader *reader, struct str body, size_t name_max);

/* 1 with a node, 0 at the end of the body, -1 at an error. */
int tree_node_next(struct tree_node_reader *reader, struct tree_node *out, struct error *err);
