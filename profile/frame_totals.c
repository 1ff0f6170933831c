#include "profile/frame_totals.h"

#include <stdlib.h>

#include "base/cleanup.h"

static void add(struct frame_row *row, const struct frame_node *node, bool is_outermost)
{
	for (size_t s = 0; s < FRAME_SIDES; s++) {
		row->sides[s].self = frame_value_sum(row->sides[s].self, node->sides[s].self);
		if (is_outermost)
			row->sides[s].total =
				frame_value_sum(row->sides[s].total, node->sides[s].total);
	}
}

/* The walk has left a node, and so many levels with it. */
static void leave(const struct frame_tree *tree, uint32_t node, size_t levels,
                  uint32_t *open_counts)
{
	for (; levels > 0; levels--) {
		open_counts[tree->nodes[node].frame]--;
		node = tree->nodes[node].parent;
	}
}

/* open_counts[frame]: how often it is on the way to the node at hand. */
static void add_nodes(const struct frame_tree *tree, struct frame_row *rows, uint32_t *open_counts)
{
	size_t depth = 0;
	size_t before = 0;
	uint32_t last = 0;

	for (uint32_t i = frame_tree_next(tree, 0, 0, false, &depth); i != FRAME_NONE;
	     i = frame_tree_next(tree, 0, i, false, &depth)) {
		const uint32_t frame = tree->nodes[i].frame;

		leave(tree, last, before + 1 - depth, open_counts);
		add(&rows[frame], &tree->nodes[i], open_counts[frame]++ == 0);
		last = i;
		before = depth;
	}
}

static bool is_empty(const struct frame_row *row)
{
	for (size_t s = 0; s < FRAME_SIDES; s++)
		if (row->sides[s].self != 0 || row->sides[s].total != 0)
			return false;
	return true;
}

/* A row with what it is sorted by. */
struct sortable_row {
	uint64_t self_change;
	uint64_t total_change;
	uint32_t rank;
	uint32_t frame;
};

static uint64_t change(int64_t left, int64_t right)
{
	return left > right ? (uint64_t)left - (uint64_t)right : (uint64_t)right - (uint64_t)left;
}

static int compare_rows(const void *left, const void *right)
{
	const struct sortable_row *a = left;
	const struct sortable_row *b = right;

	if (a->self_change != b->self_change)
		return a->self_change > b->self_change ? -1 : 1;
	if (a->total_change != b->total_change)
		return a->total_change > b->total_change ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Puts rows that have something in their order. */
static size_t sort_rows(const struct frame_row *rows, size_t count, const uint32_t *ranks,
                        struct sortable_row *sorted)
{
	size_t kept = 0;

	for (uint32_t i = 1; i < count; i++) {
		const struct frame_value *sides = rows[i].sides;

		if (is_empty(&rows[i]))
			continue;
		sorted[kept++] = (struct sortable_row){
			.self_change = change(sides[FRAME_LEFT].self, sides[FRAME_RIGHT].self),
			.total_change = change(sides[FRAME_LEFT].total, sides[FRAME_RIGHT].total),
			.rank = ranks[i],
			.frame = i,
		};
	}
	if (kept > 1)
		qsort(sorted, kept, sizeof(*sorted), compare_rows);
	return kept;
}

int frame_totals_make(const struct frame_tree *tree, const uint32_t *ranks,
                      struct frame_totals *out, struct error *err)
{
	CLEANUP(arena_freep) struct arena *step = arena_branch(tree->arena);
	const size_t count = tree->frames->count;
	struct frame_row *by_frame = arena_array(step, count, sizeof(*by_frame));
	uint32_t *open_counts = arena_array(step, count, sizeof(*open_counts));
	struct sortable_row *sorted = arena_array_raw(step, count, sizeof(*sorted));

	out->numbers = arena_array(tree->arena, count, sizeof(*out->numbers));
	if (!by_frame || !open_counts || !sorted || !out->numbers)
		return arena_error(tree->arena, err);
	add_nodes(tree, by_frame, open_counts);
	out->count = sort_rows(by_frame, count, ranks, sorted);
	out->rows = arena_array_raw(tree->arena, out->count + 1, sizeof(*out->rows));
	if (!out->rows)
		return arena_error(tree->arena, err);
	for (size_t i = 0; i < out->count; i++) {
		const uint32_t frame = sorted[i].frame;

		out->rows[i] = by_frame[frame];
		out->rows[i].frame = frame;
		out->numbers[frame] = (uint32_t)i + 1;
	}
	return 0;
}
