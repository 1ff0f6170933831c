#include "profile/frame_graph.h"

#include "base/cleanup.h"
#include "profile/value_heap.h"

/* Where the next node of a level begins. */
struct cursor {
	int64_t x[FRAME_SIDES];
};

/* A node that is drawn, in the order of the walk: left to right within each level. */
struct item {
	size_t level;
	uint32_t number;
	struct cursor at;
	struct frame_value sides[FRAME_SIDES];
};

struct drawing {
	const struct frame_tree *tree;
	const struct frame_graph_options *options;
	struct arena *step;
	int64_t threshold; /* nodes above it are drawn, */
	size_t ties_left;  /* and so many that are as large */
	struct cursor *cursors;
	size_t cursor_capacity;
	struct item *items;
	size_t item_count;
	size_t item_capacity;
	struct frame_value (*folded)[FRAME_SIDES]; /* by level: of the parent above it */
	size_t folded_capacity;
	size_t level_count;
};

static int64_t size_of(const struct frame_node *node)
{
	const int64_t left = node->sides[FRAME_LEFT].total;
	const int64_t right = node->sides[FRAME_RIGHT].total;

	return left > right ? left : right;
}

/* ---- the cut ---- */

/* The max_nodes-th largest size, and how many of just that size there is room for. */
static int find_threshold(struct drawing *drawing, uint32_t top, struct error *err)
{
	const struct frame_tree *tree = drawing->tree;
	const size_t most = drawing->options->max_nodes;
	struct value_heap heap = { .capacity = most };
	size_t depth = 0;

	drawing->threshold = INT64_MIN;
	drawing->ties_left = SIZE_MAX;
	if (most == 0 || most >= tree->node_count)
		return 0;
	heap.values = arena_array_raw(drawing->step, most, sizeof(*heap.values));
	if (!heap.values)
		return arena_error(drawing->step, err);
	/* what is below the largest so far has no larger child */
	for (uint32_t i = frame_tree_next(tree, top, top, false, &depth); i != FRAME_NONE;) {
		const bool is_in = value_heap_offer(&heap, size_of(&tree->nodes[i]));

		i = frame_tree_next(tree, top, i, !is_in, &depth);
	}
	if (heap.count < most)
		return 0;
	drawing->threshold = heap.values[0];
	drawing->ties_left = 0;
	for (size_t i = 0; i < heap.count; i++)
		drawing->ties_left += heap.values[i] == drawing->threshold;
	return 0;
}

static bool is_drawn(struct drawing *drawing, const struct frame_node *node)
{
	const int64_t size = size_of(node);

	if (size != drawing->threshold)
		return size > drawing->threshold;
	if (drawing->ties_left == 0)
		return false;
	drawing->ties_left--;
	return true;
}

/* ---- the walk ---- */

static bool need_level(struct drawing *drawing, size_t level)
{
	return ARENA_GROW(drawing->step, drawing->cursors, level, drawing->cursor_capacity) &&
	       ARENA_GROW(drawing->step, drawing->folded, level, drawing->folded_capacity);
}

/* Places something at the cursor of its level, which moves on. */
static bool place(struct drawing *drawing, size_t level, uint32_t number,
                  const struct frame_value *sides)
{
	struct item *item;

	if (!ARENA_GROW(drawing->step, drawing->items, drawing->item_count, drawing->item_capacity))
		return false;
	item = &drawing->items[drawing->item_count++];
	*item = (struct item){ level, number, drawing->cursors[level], { { 0, 0 } } };
	memcpy(item->sides, sides, sizeof(item->sides));
	for (size_t s = 0; s < FRAME_SIDES; s++) {
		int64_t *x = &drawing->cursors[level].x[s];

		*x = frame_value_sum(*x, sides[s].total);
	}
	if (level >= drawing->level_count)
		drawing->level_count = level + 1;
	return true;
}

/* A node, behind whose own part its children begin. */
static bool enter(struct drawing *drawing, size_t level, const struct frame_node *node)
{
	struct cursor inside;

	if (!need_level(drawing, level + 1))
		return false;
	for (size_t s = 0; s < FRAME_SIDES; s++)
		inside.x[s] = frame_value_sum(drawing->cursors[level].x[s], node->sides[s].self);
	drawing->cursors[level + 1] = inside;
	memset(drawing->folded[level + 1], 0, sizeof(drawing->folded[level + 1]));
	return place(drawing, level, drawing->options->numbers[node->frame], node->sides);
}

static void fold(struct drawing *drawing, size_t level, const struct frame_node *node)
{
	for (size_t s = 0; s < FRAME_SIDES; s++) {
		struct frame_value *folded = &drawing->folded[level][s];

		folded->total = frame_value_sum(folded->total, node->sides[s].total);
		folded->self = folded->total;
	}
}

/* All children of the nodes at or below these levels are behind us. */
static bool leave(struct drawing *drawing, size_t from, size_t to)
{
	for (size_t level = from; level > to; level--) {
		const struct frame_value *folded = drawing->folded[level];

		if ((folded[FRAME_LEFT].total != 0 || folded[FRAME_RIGHT].total != 0) &&
		    !place(drawing, level, drawing->options->folded_number, folded))
			return false;
	}
	return true;
}

/* `open`: the deepest level whose parent is drawn and may have further children. */
static bool walk(struct drawing *drawing, uint32_t top)
{
	const struct frame_tree *tree = drawing->tree;
	size_t open = 1;
	size_t depth = 0;
	bool drawn;

	if (!need_level(drawing, 0))
		return false;
	drawing->cursors[0] = (struct cursor){ { 0 } };
	if (!enter(drawing, 0, &tree->nodes[top]))
		return false;
	for (uint32_t i = frame_tree_next(tree, top, top, false, &depth); i != FRAME_NONE;
	     i = frame_tree_next(tree, top, i, !drawn, &depth)) {
		const struct frame_node *node = &tree->nodes[i];

		if (!leave(drawing, open, depth))
			return false;
		open = depth;
		drawn = is_drawn(drawing, node);
		if (!drawn) {
			fold(drawing, depth, node);
			continue;
		}
		if (!enter(drawing, depth, node))
			return false;
		open = depth + 1;
	}
	return leave(drawing, open, 0);
}

/* ---- levels ---- */

static void write_item(const struct drawing *drawing, const struct item *item, struct cursor *end,
                       int64_t *to)
{
	for (size_t s = 0; s < drawing->options->side_count; s++) {
		*to++ = (int64_t)((uint64_t)item->at.x[s] - (uint64_t)end->x[s]);
		*to++ = item->sides[s].total;
		*to++ = item->sides[s].self;
		end->x[s] = frame_value_sum(item->at.x[s], item->sides[s].total);
	}
	*to = item->number;
}

static int write_levels(const struct drawing *drawing, struct frame_graph *out, struct error *err)
{
	const size_t width = 3 * drawing->options->side_count + 1;
	struct arena *arena = drawing->tree->arena;
	struct cursor *ends =
		arena_array(drawing->step, drawing->level_count, sizeof(struct cursor));
	int64_t *values = arena_array_raw(arena, drawing->item_count, width * sizeof(*values));

	out->level_count = drawing->level_count;
	out->levels = arena_array(arena, out->level_count, sizeof(*out->levels));
	if (!ends || !values || !out->levels)
		return arena_error(arena, err);
	for (size_t i = 0; i < drawing->item_count; i++)
		out->levels[drawing->items[i].level].count += width;
	for (size_t i = 0; i < out->level_count; i++) {
		out->levels[i].values = values;
		values += out->levels[i].count;
		out->levels[i].count = 0;
	}
	for (size_t i = 0; i < drawing->item_count; i++) {
		const struct item *item = &drawing->items[i];
		struct frame_level *level = &out->levels[item->level];

		write_item(drawing, item, &ends[item->level], &level->values[level->count]);
		level->count += width;
	}
	return 0;
}

static size_t count_nodes(const struct frame_tree *tree, uint32_t top)
{
	size_t count = 0;
	size_t depth = 0;

	if (top == 0)
		return tree->node_count;
	for (uint32_t i = top; i != FRAME_NONE; i = frame_tree_next(tree, top, i, false, &depth))
		count++;
	return count;
}

int frame_graph_make(const struct frame_tree *tree, uint32_t top,
                     const struct frame_graph_options *options, struct frame_graph *out,
                     struct error *err)
{
	CLEANUP(arena_freep) struct arena *step = arena_branch(tree->arena);
	struct drawing drawing = { .tree = tree, .options = options, .step = step };

	*out = (struct frame_graph){ 0 };
	if (find_threshold(&drawing, top, err) < 0)
		return -1;
	if (!walk(&drawing, top))
		return arena_error(step, err);
	out->folded_nodes = count_nodes(tree, top);
	for (size_t i = 0; i < drawing.item_count; i++)
		out->folded_nodes -= drawing.items[i].number != options->folded_number;
	return write_levels(&drawing, out, err);
}
