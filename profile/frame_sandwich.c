#include "profile/frame_sandwich.h"

#include "base/cleanup.h"

/* A sandwich while it is made. */
struct making {
	const struct frame_tree *tree;
	struct arena *step;
	bool *is_named; /* by frame */
	struct frame_sandwich *out;
	uint32_t *way; /* by depth below a place: the node in callees */
	size_t way_capacity;
};

/* ---- the function ---- */

static bool find_frames(struct making *making, const struct frame_totals *table, struct str name)
{
	const struct frame_set *frames = making->tree->frames;
	struct frame_sandwich *out = making->out;
	int64_t largest = INT64_MIN;

	making->is_named = arena_array(making->step, frames->count, sizeof(*making->is_named));
	for (size_t i = 0; making->is_named && i < table->count; i++) {
		const struct frame_row *row = &table->rows[i];
		const int64_t total = frame_value_sum(row->sides[FRAME_LEFT].total,
		                                      row->sides[FRAME_RIGHT].total);

		if (!str_equal(frames->frames[row->frame].name, name))
			continue;
		making->is_named[row->frame] = true;
		out->is_found = true;
		if (total > largest) {
			largest = total;
			out->frame = row->frame;
		}
		for (size_t s = 0; s < FRAME_SIDES; s++)
			out->sides[s].self =
				frame_value_sum(out->sides[s].self, row->sides[s].self);
	}
	return making->is_named != NULL;
}

/* ---- its places ---- */

static void add_selves(struct frame_value *to, const struct frame_value *from)
{
	for (size_t s = 0; s < FRAME_SIDES; s++)
		to[s].self = frame_value_sum(to[s].self, from[s].self);
}

/* What is below a place goes below the function. */
static bool add_callees(struct making *making, uint32_t place)
{
	const struct frame_tree *tree = making->tree;
	struct frame_tree *callees = making->out->callees;
	size_t depth = 0;

	if (!ARENA_GROW(making->step, making->way, 0, making->way_capacity))
		return false;
	making->way[0] = FRAME_SANDWICH_TOP;
	for (uint32_t i = place; i != FRAME_NONE;
	     i = frame_tree_next(tree, place, i, false, &depth)) {
		const struct frame_node *node = &tree->nodes[i];

		if (!ARENA_GROW(making->step, making->way, depth, making->way_capacity))
			return false;
		if (depth > 0)
			making->way[depth] =
				frame_tree_child(callees, making->way[depth - 1], node->frame);
		if (making->way[depth] == FRAME_NONE)
			return false;
		add_selves(callees->nodes[making->way[depth]].sides, node->sides);
	}
	return true;
}

/* The way up from a place goes down from the function. */
static bool add_callers(struct making *making, uint32_t place)
{
	const struct frame_tree *tree = making->tree;
	struct frame_tree *callers = making->out->callers;
	const struct frame_value *total = tree->nodes[place].sides;
	uint32_t at = FRAME_SANDWICH_TOP;

	for (uint32_t up = tree->nodes[place].parent; up != 0; up = tree->nodes[up].parent) {
		at = frame_tree_child(callers, at, tree->nodes[up].frame);
		if (at == FRAME_NONE)
			return false;
	}
	for (size_t s = 0; s < FRAME_SIDES; s++) {
		int64_t *self = &callers->nodes[at].sides[s].self;

		*self = frame_value_sum(*self, total[s].total);
	}
	return true;
}

static bool add_places(struct making *making)
{
	const struct frame_tree *tree = making->tree;
	bool is_place = false;
	size_t depth = 0;

	for (uint32_t i = frame_tree_next(tree, 0, 0, false, &depth); i != FRAME_NONE;
	     i = frame_tree_next(tree, 0, i, is_place, &depth)) {
		is_place = making->is_named[tree->nodes[i].frame];
		if (is_place && (!add_callees(making, i) || !add_callers(making, i)))
			return false;
	}
	return true;
}

static int new_tree(const struct frame_tree *tree, uint32_t frame, struct frame_tree **out,
                    struct error *err)
{
	if (frame_tree_new(tree->frames, out, err) < 0)
		return -1;
	return frame_tree_child(*out, 0, frame) == FRAME_NONE ? arena_error(tree->arena, err) : 0;
}

int frame_sandwich_make(const struct frame_tree *tree, const struct frame_totals *table,
                        const uint32_t *ranks, struct str name, struct frame_sandwich *out,
                        struct error *err)
{
	CLEANUP(arena_freep) struct arena *step = arena_branch(tree->arena);
	struct making making = { .tree = tree, .step = step, .out = out };

	*out = (struct frame_sandwich){ 0 };
	if (!find_frames(&making, table, name))
		return arena_error(step, err);
	if (!out->is_found)
		return 0;
	if (new_tree(tree, out->frame, &out->callers, err) < 0 ||
	    new_tree(tree, out->frame, &out->callees, err) < 0)
		return -1;
	if (!add_places(&making))
		return arena_error(tree->arena, err);
	if (frame_tree_finish(out->callers, ranks, err) < 0 ||
	    frame_tree_finish(out->callees, ranks, err) < 0)
		return -1;
	for (size_t s = 0; s < FRAME_SIDES; s++)
		out->sides[s].total = out->callees->nodes[FRAME_SANDWICH_TOP].sides[s].total;
	return 0;
}
