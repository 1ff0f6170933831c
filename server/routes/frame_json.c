#include "server/routes/frame_json.h"

#include "base/clock.h"

#define KIND_ROOT   "root"
#define KIND_FOLDED "folded"

static void number(struct json_writer *writer, const char *key, int64_t value)
{
	json_key(writer, key);
	json_put_exact(writer, value);
}

/* ---- frames ---- */

/* What stands for a frame in one of the lists of them. */
struct frame_list {
	const char *key;
	const char *root; /* as the text of frame 0, or NULL where that is a number */
	const char *folded;
	void (*put)(struct json_writer *writer, const struct graph_frame *frame);
};

static void put_name(struct json_writer *writer, const struct graph_frame *frame)
{
	json_put_text(writer, frame->name);
}

static void put_kind(struct json_writer *writer, const struct graph_frame *frame)
{
	json_put_text(writer, str_of(frame_kind_name(frame->kind)));
}

static void put_file(struct json_writer *writer, const struct graph_frame *frame)
{
	json_put_text(writer, frame->file);
}

static void put_line(struct json_writer *writer, const struct graph_frame *frame)
{
	json_put_exact(writer, frame->line);
}

static void put_constant(struct json_writer *writer, const char *text)
{
	if (text)
		json_put_text(writer, str_of(text));
	else
		json_put_int(writer, 0);
}

/* The root, the rows of the table, and what is folded. */
static void put_list(struct json_writer *writer, const struct frame_view *view,
                     const struct frame_list *list)
{
	const struct graph_frame *frames = view->tree->frames->frames;

	json_key(writer, list->key);
	json_begin_list(writer);
	put_constant(writer, list->root);
	for (size_t i = 0; i < view->totals.count; i++)
		list->put(writer, &frames[view->totals.rows[i].frame]);
	if (view->has_folded)
		put_constant(writer, list->folded);
	json_end_list(writer);
}

static void put_frames(struct json_writer *writer, const struct frame_view *view)
{
	static const struct frame_list lists[] = {
		{ "names", "total", "other", put_name },
		{ "kinds", KIND_ROOT, KIND_FOLDED, put_kind },
		{ "files", "", "", put_file },
		{ "lines", NULL, NULL, put_line },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
		put_list(writer, view, &lists[i]);
}

/* ---- numbers ---- */

static void put_levels(struct json_writer *writer, const char *key, const struct frame_graph *graph)
{
	json_key(writer, key);
	json_begin_list(writer);
	for (size_t i = 0; i < graph->level_count; i++) {
		json_begin_list(writer);
		for (size_t j = 0; j < graph->levels[i].count; j++)
			json_put_exact(writer, graph->levels[i].values[j]);
		json_end_list(writer);
	}
	json_end_list(writer);
}

static void put_table(struct json_writer *writer, const struct frame_view *view)
{
	json_key(writer, "table");
	json_begin_list(writer);
	for (size_t i = 0; i < view->totals.count; i++) {
		json_begin_list(writer);
		json_put_uint(writer, i + 1);
		for (size_t s = 0; s < view->side_count; s++) {
			json_put_exact(writer, view->totals.rows[i].sides[s].self);
			json_put_exact(writer, view->totals.rows[i].sides[s].total);
		}
		json_end_list(writer);
	}
	json_end_list(writer);
}

/* What a side has, and of what it was told. */
static void put_told(struct json_writer *writer, const struct frame_view *view,
                     enum frame_side side)
{
	const struct frame_told *told = &view->told[side];
	const struct instant_snapshots *snapshots = &told->snapshots;

	number(writer, "total", view->tree->nodes[0].sides[side].total);
	json_key(writer, "tick_ms");
	if (told->is_counted && snapshots->count > 0)
		json_put_exact(writer, snapshots->newest_unix_ns / NS_PER_MS);
	else
		json_put_null(writer);
	json_key(writer, "snapshots");
	if (told->is_counted)
		json_put_exact(writer, snapshots->count);
	else
		json_put_null(writer);
	json_key(writer, "exact");
	json_put_bool(writer, !snapshots->is_rounded);
}

static void put_sandwich(struct json_writer *writer, const struct frame_view *view)
{
	const struct frame_sandwich *sandwich = &view->sandwich;

	json_key(writer, "sandwich");
	if (!view->has_sandwich) {
		json_put_null(writer);
		return;
	}
	json_begin_map(writer);
	json_key(writer, "frame");
	if (sandwich->is_found)
		json_put_uint(writer, view->totals.numbers[sandwich->frame]);
	else
		json_put_null(writer);
	number(writer, "self", sandwich->sides[FRAME_LEFT].self);
	number(writer, "total", sandwich->sides[FRAME_LEFT].total);
	json_key(writer, "folded_nodes");
	json_put_uint(writer, view->callers.folded_nodes + view->callees.folded_nodes);
	put_levels(writer, "callers", &view->callers);
	put_levels(writer, "callees", &view->callees);
	json_end_map(writer);
}

static void put_unit(struct json_writer *writer, const struct frame_view *view)
{
	json_key(writer, "unit");
	json_put_text(writer, view->unit);
}

static void put_folded(struct json_writer *writer, const struct frame_view *view)
{
	json_key(writer, "folded_nodes");
	json_put_uint(writer, view->graph.folded_nodes);
}

/* ---- answers ---- */

void frame_json_graph(const struct frame_view *view, struct strbuf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_map(&writer);
	put_unit(&writer, view);
	put_told(&writer, view, FRAME_LEFT);
	put_folded(&writer, view);
	put_frames(&writer, view);
	put_levels(&writer, "levels", &view->graph);
	put_table(&writer, view);
	put_sandwich(&writer, view);
	json_end_map(&writer);
}

void frame_json_diff(const struct frame_view *view, struct strbuf *out)
{
	static const char *const sides[FRAME_SIDES] = { "left", "right" };
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_map(&writer);
	put_unit(&writer, view);
	put_folded(&writer, view);
	for (size_t i = 0; i < FRAME_SIDES; i++) {
		json_key(&writer, sides[i]);
		json_begin_map(&writer);
		put_told(&writer, view, (enum frame_side)i);
		json_end_map(&writer);
	}
	put_frames(&writer, view);
	put_levels(&writer, "levels", &view->graph);
	put_table(&writer, view);
	json_end_map(&writer);
}
