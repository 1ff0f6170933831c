#include "server/query/frame_query.h"

#include "profile/call_site.h"
#include "server/query/live_moment.h"

/* One side while its sums are added. What is divided has a tree for each divisor. */
struct adding {
	const struct read_query *query;
	const struct instant_plan *plan; /* NULL: nothing is divided */
	struct frame_tree *tree;
	enum frame_side side;
	struct frame_tree **parts; /* by part */
	size_t part_capacity;
	size_t part_count;
};

static int64_t divisor_of(const struct adding *adding, uint32_t part)
{
	return adding->plan ? instant_plan_divisor(adding->plan, part) : 1;
}

/* The tree of a part; parts that are not divided share that of the answer. */
static int tree_of(struct adding *adding, uint32_t part, struct frame_tree **out, struct error *err)
{
	struct arena *arena = adding->tree->arena;

	*out = adding->tree;
	if (divisor_of(adding, part) == 1)
		return 0;
	for (; adding->part_count <= part; adding->part_count++) {
		if (!ARENA_GROW(arena, adding->parts, adding->part_count, adding->part_capacity))
			return arena_error(arena, err);
		adding->parts[adding->part_count] = NULL;
	}
	if (!adding->parts[part] &&
	    frame_tree_new(adding->tree->frames, &adding->parts[part], err) < 0)
		return -1;
	*out = adding->parts[part];
	return 0;
}

static int add_sums(void *context, const struct stack_sums *sums, struct error *err)
{
	struct adding *adding = context;
	const struct sample_filter *filter = &adding->query->filter;
	struct stack_sums passed = *sums;
	struct frame_tree *tree;

	if (filter->call_site_count > 0 &&
	    call_site_filter(sums, filter->call_site, filter->call_site_count,
	                     adding->query->context.arena, &passed, err) < 0)
		return -1;
	if (tree_of(adding, sums->part, &tree, err) < 0)
		return -1;
	return frame_tree_add_sums(tree, &passed, adding->side, err);
}

static int add_parts(const struct adding *adding, struct error *err)
{
	for (uint32_t i = 0; i < adding->part_count; i++)
		if (adding->parts[i] &&
		    frame_tree_add_tree(adding->tree, adding->parts[i], adding->side,
		                        divisor_of(adding, i), err) < 0)
			return -1;
	return 0;
}

/* ---- sides ---- */

static int merge(struct adding *adding, const struct store_parts *parts, struct error *err)
{
	const struct store_query question = read_query_store(adding->query);

	return store_merge(adding->query->context.store, &question, parts, add_sums, adding, err);
}

static int add_moment(struct adding *adding, struct frame_query *side, struct frame_told *out,
                      struct error *err)
{
	struct live_moment *moment;

	if (live_moment_new(&side->query, side->at_ms, &moment, err) < 0)
		return -1;
	if (live_moment_parts(moment)->count > 0 &&
	    merge(adding, live_moment_parts(moment), err) < 0)
		return -1;
	out->is_counted = true;
	live_moment_snapshots(moment, &out->snapshots);
	return 0;
}

static int add_range(struct adding *adding, struct frame_query *side, struct frame_told *out,
                     struct error *err)
{
	struct read_query *query = &side->query;
	struct store_query question;
	struct instant_plan *plan;

	if (read_query_resolve_alias(query, err) < 0)
		return -1;
	question = read_query_store(query);
	if (instant_plan_new(query->context.store, &question, read_query_merge(query), &plan, err) <
	    0)
		return -1;
	adding->plan = plan;
	if (!instant_plan_is_empty(plan) &&
	    (merge(adding, instant_plan_parts(plan), err) < 0 || add_parts(adding, err) < 0))
		return -1;
	out->is_counted = instant_plan_snapshots(plan, &out->snapshots);
	return 0;
}

static int add_side(struct frame_query *side, struct frame_tree *tree, enum frame_side which,
                    struct frame_told *out, struct error *err)
{
	struct adding adding = { .query = &side->query, .tree = tree, .side = which };

	*out = (struct frame_told){
		.is_counted = profile_type_is_instant(&side->query.type),
		.snapshots = { .newest_unix_ns = INT64_MIN },
	};
	if (side->query.nothing)
		return 0;
	return side->at_ms ? add_moment(&adding, side, out, err)
	                   : add_range(&adding, side, out, err);
}

/* ---- the view ---- */

static int draw(struct frame_view *view, const struct frame_view_options *options,
                const struct frame_tree *tree, uint32_t top, struct frame_graph *out,
                struct error *err)
{
	const struct frame_graph_options graph = {
		.side_count = view->side_count,
		.max_nodes = options->max_nodes,
		.numbers = view->totals.numbers,
		.folded_number = (uint32_t)view->totals.count + 1,
	};

	if (frame_graph_make(tree, top, &graph, out, err) < 0)
		return -1;
	view->has_folded |= out->folded_nodes > 0;
	return 0;
}

static int make_sandwich(struct frame_view *view, const struct frame_view_options *options,
                         const uint32_t *ranks, struct error *err)
{
	struct frame_sandwich *sandwich = &view->sandwich;

	view->has_sandwich = options->sandwich.data != NULL;
	if (!view->has_sandwich)
		return 0;
	if (frame_sandwich_make(view->tree, &view->totals, ranks, options->sandwich, sandwich,
	                        err) < 0)
		return -1;
	if (!sandwich->is_found)
		return 0;
	if (draw(view, options, sandwich->callers, FRAME_SANDWICH_TOP, &view->callers, err) < 0)
		return -1;
	return draw(view, options, sandwich->callees, FRAME_SANDWICH_TOP, &view->callees, err);
}

int frame_view_make(struct frame_query *sides, size_t side_count,
                    const struct frame_view_options *options, struct frame_view *out,
                    struct error *err)
{
	struct arena *arena = sides[0].query.context.arena;
	struct frame_set *frames;
	uint32_t *ranks;

	*out = (struct frame_view){
		.side_count = side_count,
		.unit = sides[0].query.type.sample_unit,
	};
	if (frame_set_new(arena, options->detail, &frames, err) < 0 ||
	    frame_tree_new(frames, &out->tree, err) < 0)
		return -1;
	for (size_t i = 0; i < side_count; i++)
		if (add_side(&sides[i], out->tree, (enum frame_side)i, &out->told[i], err) < 0)
			return -1;
	if (frame_set_choose_lines(frames, err) < 0 ||
	    frame_set_rank(frames, arena, &ranks, err) < 0 ||
	    frame_tree_finish(out->tree, ranks, err) < 0 ||
	    frame_totals_make(out->tree, ranks, &out->totals, err) < 0 ||
	    draw(out, options, out->tree, 0, &out->graph, err) < 0)
		return -1;
	return make_sandwich(out, options, ranks, err);
}
