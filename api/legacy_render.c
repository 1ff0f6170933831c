#include "api/legacy_render.h"

#include <stdlib.h>

#include "base/json.h"

#define MS_PER_S INT64_C(1000)

int64_t legacy_timeline_step_s(int64_t start_ms, int64_t end_ms)
{
	/* A range of up to 1500 times so many milliseconds has this step. */
	static const struct {
		int64_t interval_ms;
		int64_t step_s;
	} steps[] = {
		{ 17500, 15 },        { 25000, 20 },        { 45000, 30 },
		{ 90000, 60 },        { 210000, 120 },      { 450000, 300 },
		{ 750000, 600 },      { 1050000, 900 },     { 1500000, 1200 },
		{ 2700000, 1800 },    { 5400000, 3600 },    { 9000000, 7200 },
		{ 16200000, 10800 },  { 32400000, 21600 },  { 86400000, 43200 },
		{ 172800000, 86400 }, { 604800000, 86400 }, { 1814400000, 604800 },
	};
	const int64_t range_ms = end_ms > start_ms ? end_ms - start_ms : 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		/* the interval is in whole nanoseconds, rounded down */
		if (range_ms <= steps[i].interval_ms * 1500)
			return steps[i].step_s;
	return range_ms < INT64_C(3628800000) * 1500 ? 2592000 : 31536000;
}

static int64_t floor_to(int64_t value, int64_t unit)
{
	const int64_t rest = value % unit;

	return value - (rest < 0 ? rest + unit : rest);
}

static uint64_t sample_of(double value)
{
	if (!(value > 0))
		return 0;
	return value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

/* Puts the points that lie in the timeline into their places. */
static void fill(const struct time_series_group *series, int64_t start_ms, int64_t end_ms,
                 struct legacy_timeline *timeline)
{
	const int64_t step_ms = timeline->step_s * MS_PER_S;
	int64_t before_ms = 0;
	size_t at = 0;
	bool first = true;

	for (size_t i = 0; i < series->point_count; i++) {
		const struct time_series_point *point = &series->points[i];

		if (point->time_ms < start_ms || point->time_ms >= end_ms)
			continue;
		if (first) {
			at = (size_t)((point->time_ms / MS_PER_S - start_ms / MS_PER_S) /
			              timeline->step_s);
		} else {
			const int64_t distance = (point->time_ms - before_ms) / step_ms;

			at += distance > 1 ? (size_t)distance : 1;
		}
		first = false;
		before_ms = point->time_ms;
		if (at < timeline->count)
			timeline->samples[at] = sample_of(point->value);
	}
}

int legacy_timeline_make(const struct legacy_grid *grid, const struct time_series_group *series,
                         struct arena *arena, struct legacy_timeline *out, struct error *err)
{
	const int64_t step_ms = grid->step_s * MS_PER_S;
	const int64_t from_ms = floor_to(grid->start_ms, step_ms);
	const int64_t to_ms = floor_to(grid->end_ms, step_ms);

	*out = (struct legacy_timeline){ .start_s = from_ms / MS_PER_S, .step_s = grid->step_s };
	if (from_ms >= to_ms)
		return 0;
	out->count = ((uint64_t)to_ms - (uint64_t)from_ms) / (uint64_t)step_ms;
	out->samples = arena_array(arena, out->count, sizeof(*out->samples));
	if (!out->samples)
		return arena_error(arena, err);
	if (series)
		fill(series, from_ms, to_ms, out);
	return 0;
}

static int compare_groups(const void *a, const void *b)
{
	const struct legacy_group *first = a;
	const struct legacy_group *second = b;
	const int order = str_compare(first->name, second->name);

	return order ? order : (first->rank > second->rank) - (first->rank < second->rank);
}

static struct str group_name(const struct label_set *labels, struct str label)
{
	for (size_t i = 0; i < labels->count; i++)
		if (str_equal(labels->labels[i].name, label))
			return labels->labels[i].value;
	return STR("*");
}

/* Of the sorted groups with one name the last one stays. */
static size_t keep_last(struct legacy_group *groups, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (i + 1 == count || !str_equal(groups[i].name, groups[i + 1].name))
			groups[kept++] = groups[i];
	return kept;
}

int legacy_groups_make(const struct legacy_grid *grid, const struct time_series_result *series,
                       struct str label, struct arena *arena, struct legacy_group **out,
                       size_t *out_count, struct error *err)
{
	struct legacy_group *groups = arena_array(arena, series->count + 1, sizeof(*groups));
	size_t count;

	if (!groups)
		return arena_error(arena, err);
	for (size_t i = 0; i < series->count; i++) {
		groups[i].name = group_name(&series->groups[i].labels, label);
		groups[i].rank = i;
		if (legacy_timeline_make(grid, &series->groups[i], arena, &groups[i].timeline,
		                         err) < 0)
			return -1;
	}
	qsort(groups, series->count, sizeof(*groups), compare_groups);
	count = keep_last(groups, series->count);
	*out = groups;
	*out_count = count;
	return 0;
}

static void write_graph(const struct flame_graph *graph, struct json_writer *writer)
{
	json_key(writer, "flamebearer");
	json_begin_map(writer);
	json_key(writer, "names");
	json_begin_list(writer);
	for (size_t i = 0; i < graph->name_count; i++)
		json_put_text(writer, graph->names[i]);
	json_end_list(writer);
	json_key(writer, "levels");
	json_begin_list(writer);
	for (size_t i = 0; i < graph->level_count; i++) {
		json_begin_list(writer);
		for (size_t j = 0; j < graph->levels[i].count; j++)
			json_put_int(writer, graph->levels[i].values[j]);
		json_end_list(writer);
	}
	json_end_list(writer);
	json_key(writer, "numTicks");
	json_put_int(writer, graph->total);
	json_key(writer, "maxSelf");
	json_put_int(writer, graph->max_self);
	json_end_map(writer);
}

/* The table of 4.4: units are what old viewers divide by the rate. */
static void write_metadata(const struct legacy_document *document, struct json_writer *writer)
{
	static const char *const objects[] = { "inuse_objects", "alloc_objects", "goroutine",
		                               "samples" };
	const struct str type = document->type->sample_type;
	const bool is_cpu = str_equals(type, "cpu");
	struct str units = is_cpu ? STR("samples") : document->type->sample_unit;

	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		if (str_equals(type, objects[i]))
			units = STR("objects");
	json_key(writer, "metadata");
	json_begin_map(writer);
	json_key(writer, "format");
	json_put_text(writer, document->graph->is_diff ? STR("double") : STR("single"));
	json_key(writer, "spyName");
	json_put_text(writer, STR(""));
	json_key(writer, "sampleRate");
	json_put_int(writer, is_cpu ? 1000000000 : 100);
	json_key(writer, "units");
	json_put_text(writer, units);
	json_key(writer, "name");
	json_put_text(writer, type);
	json_end_map(writer);
}

static void write_timeline(const struct legacy_timeline *timeline, struct json_writer *writer)
{
	json_begin_map(writer);
	json_key(writer, "startTime");
	json_put_int(writer, timeline->start_s);
	json_key(writer, "samples");
	json_begin_list(writer);
	for (size_t i = 0; i < timeline->count; i++)
		json_put_uint(writer, timeline->samples[i]);
	json_end_list(writer);
	json_key(writer, "durationDelta");
	json_put_int(writer, timeline->step_s);
	json_key(writer, "watermarks");
	json_put_null(writer);
	json_end_map(writer);
}

static void write_timelines(const struct legacy_document *document, struct json_writer *writer)
{
	json_key(writer, "timeline");
	if (document->timeline)
		write_timeline(document->timeline, writer);
	else
		json_put_null(writer);
	json_key(writer, "groups");
	if (!document->groups) {
		json_put_null(writer);
		return;
	}
	json_begin_map(writer);
	for (size_t i = 0; i < document->group_count; i++) {
		json_key_str(writer, document->groups[i].name);
		write_timeline(&document->groups[i].timeline, writer);
	}
	json_end_map(writer);
}

static void write_ticks(const char *name, int64_t ticks, struct json_writer *writer)
{
	if (ticks == 0)
		return;
	json_key(writer, name);
	json_put_int(writer, ticks);
}

void legacy_document_write(const struct legacy_document *document, struct strbuf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	writer.escape_html = true;
	json_begin_map(&writer);
	json_key(&writer, "version");
	json_put_int(&writer, 1);
	write_graph(document->graph, &writer);
	write_metadata(document, &writer);
	write_timelines(document, &writer);
	json_key(&writer, "heatmap");
	json_put_null(&writer);
	if (document->graph->is_diff) {
		write_ticks("leftTicks", document->graph->left_ticks, &writer);
		write_ticks("rightTicks", document->graph->right_ticks, &writer);
	}
	json_end_map(&writer);
	strbuf_add_byte(out, '\n');
}
