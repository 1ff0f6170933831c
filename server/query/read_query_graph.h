/*
 * Questions answered with a graph: flame graphs, their comparison, trees and Graphviz
 * text.
 *
 * Shape    the whole tree, cut to the nodes that a request means, then encoded.
 * Errors   as server/query/read_query.h.
 * Source   read specification, 3.7.2, 3.9 and 3.11
 */
#pragma once

#include "profile/flame_graph.h"
#include "server/query/read_query.h"

/* How far a graph is cut. */
struct graph_cut {
	int64_t requested; /* as in the request; 0: not said */
	int64_t nodes;     /* what that means: read_query_max_nodes() */
};

int read_query_run_graph(struct read_query *query, const struct graph_cut *cut,
                         struct flame_graph *out, struct error *err);

int read_query_run_diff(struct read_query *left, struct read_query *right, int64_t nodes,
                        struct flame_graph *out, struct error *err);

/*
 * Appends Graphviz text of so many functions (<= 0: 100); nothing when there are no
 * samples.
 */
int read_query_run_dot(struct read_query *query, int64_t max_nodes, struct strbuf *out,
                       struct error *err);
