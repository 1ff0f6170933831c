#include "server/query/read_query_graph.h"

#include "profile/dot.h"

#define DOT_NODES_DEFAULT 100
#define DOT_SOURCE_NODES  512 /* the graph is drawn from no less */

int read_query_run_graph(struct read_query *query, const struct graph_cut *cut,
                         struct flame_graph *out, struct error *err)
{
	struct function_tree *tree;

	if (read_query_run_tree(query, cut->nodes, &tree, err) < 0)
		return -1;
	return flame_graph_make(tree, cut->requested, query->context.arena, out, err);
}

int read_query_run_diff(struct read_query *left, struct read_query *right, int64_t nodes,
                        struct flame_graph *out, struct error *err)
{
	struct function_tree *trees[2];

	if (read_query_run_tree(left, nodes, &trees[0], err) < 0 ||
	    read_query_run_tree(right, nodes, &trees[1], err) < 0)
		return -1;
	return flame_graph_diff(trees[0], trees[1], nodes, left->context.arena, out, err);
}

int read_query_run_dot(struct read_query *query, int64_t max_nodes, struct strbuf *out,
                       struct error *err)
{
	const int64_t drawn = max_nodes > 0 ? max_nodes : DOT_NODES_DEFAULT;
	const int64_t read = drawn > DOT_SOURCE_NODES ? drawn : DOT_SOURCE_NODES;
	struct profile profile;

	if (read_query_run_profile(query, read, NULL, &profile, err) < 0)
		return -1;
	return dot_write(&profile, (size_t)drawn, query->context.arena, out, err);
}
