/*
 * A tree's bytes: decode, cut, draw, compare, encode and decode again. The first byte is
 * the number of nodes to keep.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "profile/flame_graph.h"

#define ARENA_BYTES ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_graph(const struct flame_graph *graph)
{
	const size_t width = graph->is_diff ? FLAME_DIFF_WIDTH : FLAME_SINGLE_WIDTH;

	if (graph->level_count == 0 || graph->levels[0].count != width)
		abort();
	for (size_t i = 0; i < graph->level_count; i++) {
		if (graph->levels[i].count % width != 0)
			abort();
		for (size_t j = width - 1; j < graph->levels[i].count; j += width)
			if (graph->levels[i].values[j] < 0 ||
			    (uint64_t)graph->levels[i].values[j] >= graph->name_count)
				abort();
	}
}

static void draw(const struct function_tree *tree, int64_t max_nodes, struct arena *arena)
{
	struct function_tree *cut = NULL;
	struct flame_graph graph;
	struct error err;

	if (function_tree_truncate(tree, max_nodes, arena, &cut, &err) < 0 ||
	    flame_graph_make(cut, max_nodes, arena, &graph, &err) < 0)
		return;
	check_graph(&graph);
	if (flame_graph_diff(tree, cut, max_nodes, arena, &graph, &err) == 0)
		check_graph(&graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct str bytes = size > 0 ? str_make(data + 1, size - 1) : str_make(data, 0);
	struct function_tree *tree = NULL;
	struct function_tree *again = NULL;
	struct strbuf encoded;
	struct strbuf twice;
	struct error err;

	if (function_tree_decode(bytes, arena, &tree, &err) < 0)
		return 0;
	draw(tree, data ? data[0] : 0, arena);

	/* what we wrote ourselves reads back and is written alike */
	strbuf_init(&encoded, ARENA_BYTES);
	strbuf_init(&twice, ARENA_BYTES);
	function_tree_encode(tree, &encoded);
	if (function_tree_decode(strbuf_view(&encoded), arena, &again, &err) == 0) {
		function_tree_encode(again, &twice);
		if (!str_equal(strbuf_view(&encoded), strbuf_view(&twice)) ||
		    again->nodes[0].total != tree->nodes[0].total)
			abort();
	} else if (err.code != ERROR_TOO_LARGE) {
		abort();
	}
	strbuf_fini(&encoded);
	strbuf_fini(&twice);
	return 0;
}
