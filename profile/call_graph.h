/*
 * Who calls whom: functions as nodes, calls as edges.
 *
 * Shape    a node is a function name (a bare location is a node of its own). Flat is what
 *          a function is the leaf of, cum what it is anywhere in; each node and edge
 *          counts once a sample, so recursion is not counted twice. Nodes come by their
 *          importance.
 * Errors   arena_error().
 * Threads  none.
 * Source   read specification, 3.11
 */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

struct call_node {
	struct str name;
	int64_t flat;
	int64_t cum;
	uint32_t seen; /* last sample that counted it, + 1 */
};

struct call_edge {
	uint32_t from; /* node */
	uint32_t to;
	int64_t weight;
	uint32_t seen;
	bool is_residual; /* some of it goes through functions that were left out */
};

struct call_graph {
	struct call_node *nodes;
	size_t node_count;
	struct call_edge *edges; /* the heaviest first */
	size_t edge_count;
	int64_t total;
	size_t function_count; /* before any were left out */
};

/* The first sample type's values; at most max_nodes nodes (0: all). */
int call_graph_make(const struct profile *profile, size_t max_nodes, struct arena *arena,
                    struct call_graph *out, struct error *err);
