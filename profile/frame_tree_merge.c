/*
 * Sums of windows into a tree of frames.
 */
#include "base/cleanup.h"
#include "profile/frame_tree.h"
#include "profile/function_tree.h"
#include "profile/stack_marks.h"

/* A window's stacks while they are added. Frames are + 1, 0: not asked yet. */
struct window {
	struct frame_tree *tree;
	const struct symbols *symbols;
	struct stack_marks marks;
	uint32_t *stacks;          /* marked ones, by number: ascending */
	uint32_t *nodes;           /* by number: the node of its innermost frame */
	int64_t *totals;           /* by number */
	uint32_t *line_frames;     /* by line */
	int64_t *line_totals;      /* by line */
	uint32_t *location_frames; /* by location, for bare ones */
	uint32_t stack_count;      /* marked ones */
};

/* ---- frames ---- */

static struct str mapping_file(const struct symbols *symbols,
                               const struct symbol_location *location)
{
	if (location->mapping == PROFILE_NONE)
		return STR("");
	return symbols_string(symbols, SYMBOLS_AT(symbols->mappings, location->mapping)->file);
}

static uint32_t bare_frame(struct window *window, uint32_t id)
{
	const struct symbol_location *location = SYMBOLS_AT(window->symbols->locations, id);
	struct graph_frame frame = { .file = mapping_file(window->symbols, location) };

	if (window->location_frames[id])
		return window->location_frames[id] - 1;
	frame.kind = function_kind_of(STR(""), STR(""), frame.file);
	frame.name = function_tree_bare_name(frame.file, location->address, window->marks.arena);
	if (!frame.name.data)
		return FRAME_NONE;
	window->location_frames[id] = frame_set_add(window->tree->frames, &frame) + 1;
	return window->location_frames[id] - 1;
}

static uint32_t line_frame(struct window *window, const struct symbol_location *location,
                           uint32_t id)
{
	const struct symbols *symbols = window->symbols;
	const struct symbol_line *line = SYMBOLS_AT(symbols->lines, id);
	const struct symbol_function *function = SYMBOLS_AT(symbols->functions, line->function);
	struct graph_frame frame = {
		.name = symbols_string(symbols, function->name),
		.file = symbols_string(symbols, function->file),
		.line = line->line > 0 ? line->line : 0,
		.kind = function->kind,
	};

	if (window->line_frames[id])
		return window->line_frames[id] - 1;
	if (frame.file.length == 0)
		frame.file = mapping_file(symbols, location);
	window->line_frames[id] = frame_set_add(window->tree->frames, &frame) + 1;
	return window->line_frames[id] - 1;
}

/* ---- nodes ---- */

static uint32_t add_frame(const struct window *window, uint32_t node, uint32_t frame)
{
	return frame == FRAME_NONE ? FRAME_NONE : frame_tree_child(window->tree, node, frame);
}

/* The node of a location's innermost frame below `node`. FRAME_NONE: no memory. */
static uint32_t add_location(struct window *window, uint32_t node, uint32_t id, int64_t total)
{
	const struct symbol_location *location = SYMBOLS_AT(window->symbols->locations, id);

	if (location->line_count == 0)
		return add_frame(window, node, bare_frame(window, id));
	for (uint32_t i = location->line_count; i-- > 0 && node != FRAME_NONE;) {
		const uint32_t line = location->first_line + i;

		node = add_frame(window, node, line_frame(window, location, line));
		window->line_totals[line] = frame_value_sum(window->line_totals[line], total);
	}
	return node;
}

static void sum_stacks(struct window *window, const struct stack_sums *sums)
{
	for (size_t i = 0; i < sums->count; i++)
		if (sums->sums[i] > 0)
			window->totals[stack_marks_number(&window->marks, sums->stacks[i])] =
				sums->sums[i];
	for (uint32_t i = window->stack_count; i-- > 0;) {
		const uint32_t parent =
			SYMBOLS_AT(window->symbols->stacks, window->stacks[i])->parent;
		int64_t *total;

		if (parent == 0)
			continue;
		total = &window->totals[stack_marks_number(&window->marks, parent)];
		*total = frame_value_sum(*total, window->totals[i]);
	}
}

/* A node for each marked stack, parents first. */
static bool add_stacks(struct window *window)
{
	for (uint32_t i = 0; i < window->stack_count; i++) {
		const struct symbol_stack *stack =
			SYMBOLS_AT(window->symbols->stacks, window->stacks[i]);
		const uint32_t parent =
			stack->parent
				? window->nodes[stack_marks_number(&window->marks, stack->parent)]
				: 0;

		window->nodes[i] = add_location(window, parent, stack->location, window->totals[i]);
		if (window->nodes[i] == FRAME_NONE)
			return false;
	}
	return true;
}

static void add_selves(const struct window *window, const struct stack_sums *sums,
                       enum frame_side side)
{
	for (size_t i = 0; i < sums->count; i++) {
		struct frame_value *value;
		uint32_t number;

		if (sums->sums[i] <= 0)
			continue;
		number = stack_marks_number(&window->marks, sums->stacks[i]);
		value = &window->tree->nodes[window->nodes[number]].sides[side];
		value->self = frame_value_sum(value->self, sums->sums[i]);
	}
}

static bool weigh_lines(const struct window *window, enum frame_side side)
{
	for (uint32_t i = 0; i < window->symbols->line_count; i++)
		if (window->line_frames[i] &&
		    !frame_set_weigh(window->tree->frames, window->line_frames[i] - 1,
		                     SYMBOLS_AT(window->symbols->lines, i)->line, side,
		                     window->line_totals[i]))
			return false;
	return true;
}

/* ---- windows ---- */

static int mark_stacks(struct window *window, const struct stack_sums *sums, struct error *err)
{
	struct arena *arena = window->marks.arena;
	uint32_t number = 0;

	if (stack_marks_begin(&window->marks, window->symbols->stack_count, err) < 0)
		return -1;
	for (size_t i = 0; i < sums->count; i++)
		if (sums->sums[i] > 0)
			stack_marks_add(&window->marks, window->symbols, sums->stacks[i]);
	window->stack_count = stack_marks_rank(&window->marks);
	window->stacks =
		arena_array_raw(arena, (size_t)window->stack_count + 1, sizeof(*window->stacks));
	if (!window->stacks)
		return arena_error(arena, err);
	for (uint32_t id = stack_marks_next(&window->marks, 0); id;
	     id = stack_marks_next(&window->marks, id))
		window->stacks[number++] = id;
	return 0;
}

static int take_room(struct window *window, struct error *err)
{
	struct arena *arena = window->marks.arena;
	const size_t stacks = (size_t)window->stack_count + 1;
	const size_t lines = (size_t)window->symbols->line_count + 1;

	window->nodes = arena_array_raw(arena, stacks, sizeof(*window->nodes));
	window->totals = arena_array(arena, stacks, sizeof(*window->totals));
	window->line_frames = arena_array(arena, lines, sizeof(*window->line_frames));
	window->line_totals = arena_array(arena, lines, sizeof(*window->line_totals));
	window->location_frames = arena_array(arena, (size_t)window->symbols->location_count + 1,
	                                      sizeof(*window->location_frames));
	if (!window->nodes || !window->totals || !window->line_frames || !window->line_totals ||
	    !window->location_frames)
		return arena_error(arena, err);
	return 0;
}

int frame_tree_add_sums(struct frame_tree *tree, const struct stack_sums *sums,
                        enum frame_side side, struct error *err)
{
	CLEANUP(arena_freep) struct arena *step = arena_branch(tree->arena);
	struct window window = { .tree = tree, .symbols = sums->symbols, .marks.arena = step };

	if (mark_stacks(&window, sums, err) < 0 || take_room(&window, err) < 0)
		return -1;
	sum_stacks(&window, sums);
	if (!add_stacks(&window))
		return arena_error(tree->arena, err);
	add_selves(&window, sums, side);
	return weigh_lines(&window, side) ? 0 : arena_error(tree->arena, err);
}
