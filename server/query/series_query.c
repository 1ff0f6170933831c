#include "server/query/series_query.h"

#include "base/clock.h"
#include "base/uuid.h"
#include "profile/intern.h"
#include "server/query/instant_moments.h"
#include "server/query/instant_source.h"

bool series_step_ms(double step_s, int64_t *out)
{
	const double ns = step_s * (double)NS_PER_S;

	if (step_s < 0.001)
		return false;
	/* a NaN fails this comparison too */
	*out = ns < 0x1p63 ? (int64_t)ns / NS_PER_MS : 0;
	return true;
}

/* Which series of a scan were announced already. */
struct series_seen {
	struct arena *arena;
	bool *seen;
	size_t capacity;
};

/* 1: new, 0: known, -1: the arena is full. */
static int series_seen_add(struct series_seen *seen, uint32_t series)
{
	while (series >= seen->capacity) {
		const size_t before = seen->capacity;

		if (!arena_grow(seen->arena, (void **)&seen->seen, sizeof(*seen->seen),
		                &seen->capacity))
			return -1;
		memset(seen->seen + before, 0, (seen->capacity - before) * sizeof(*seen->seen));
	}
	if (seen->seen[series])
		return 0;
	seen->seen[series] = true;
	return 1;
}

/* ---- points ---- */

struct series_run {
	struct time_series *series;
	struct series_seen seen;
	const struct selector *asked; /* what points are made of; others only tick */
	uint64_t secret;
	struct intern source_ids;
	struct intern maximum_ids;
	struct instant_moments moments;
	uint32_t *maximum_numbers; /* the first series of each */
	size_t maximum_capacity;
	bool has_maxima; /* series are told apart by what has one maximum */
	bool has_gpus;   /* and by their devices: each has a maximum of its own */
	struct series_role {
		uint32_t source;
		uint32_t number; /* of its points: its own, or that of the first it is one with */
		bool is_asked;
	} * roles; /* by series */
	size_t role_capacity;
};

/* Where devices are groups, what they have in common is none of one. */
static struct hash128 part(const struct series_run *run, const struct label_set *labels,
                           struct hash128 key)
{
	const struct str *gpu = run->has_gpus ? label_set_find(labels, STR("gpu")) : NULL;
	const struct hash128 parts[] = { key, gpu ? hash128_str(run->secret, *gpu) : key };

	return gpu ? hash128(run->secret, parts, sizeof(parts)) : key;
}

/* The number of the series that has its maximum with this one: the first that was seen. */
static int join_maximum(struct series_run *run, const struct label_set *labels,
                        uint32_t *in_out_number, struct error *err)
{
	struct arena *arena = run->seen.arena;
	bool is_new;
	const struct hash128 key = part(run, labels, instant_maximum_key(run->secret, labels));
	const uint32_t id = intern_add(&run->maximum_ids, arena, key, &is_new);

	if (id == INTERN_NONE ||
	    (is_new && !ARENA_GROW(arena, run->maximum_numbers, id, run->maximum_capacity)))
		return arena_error(arena, err);
	if (is_new)
		run->maximum_numbers[id] = *in_out_number;
	*in_out_number = run->maximum_numbers[id];
	return 0;
}

/* Learns what a series is to the question. */
static int add_series(struct series_run *run, uint32_t number, const struct label_set *labels,
                      struct error *err)
{
	struct arena *arena = run->seen.arena;
	struct series_role *role;
	bool is_new;

	while (number >= run->role_capacity)
		if (!arena_grow(arena, (void **)&run->roles, sizeof(*run->roles),
		                &run->role_capacity))
			return arena_error(arena, err);
	role = &run->roles[number];
	role->is_asked = selector_matches(run->asked, labels);
	role->source = intern_add(&run->source_ids, arena, instant_source_key(run->secret, labels),
	                          &is_new);
	if (role->source == INTERN_NONE)
		return arena_error(arena, err);
	role->number = number;
	if (!role->is_asked)
		return 0;
	if (run->has_maxima && join_maximum(run, labels, &role->number, err) < 0)
		return -1;
	return role->number == number
	               ? time_series_add_series(run->series, number, role->source, labels, err)
	               : 0;
}

static int add_point(void *context, const struct store_point *point, struct error *err)
{
	struct series_run *run = context;
	const int is_new = series_seen_add(&run->seen, point->series);
	const struct series_role *role;
	int64_t total = point->total;

	if (is_new < 0)
		return arena_error(run->seen.arena, err);
	if (is_new && add_series(run, point->series, point->labels, err) < 0)
		return -1;
	role = &run->roles[point->series];
	if (!role->is_asked)
		return time_series_add_tick(run->series, role->source, point->time_unix_ns, err);
	/* of a maximum it is the largest sum that counts: the parts of a moment so far */
	if (run->has_maxima &&
	    !instant_moments_add(&run->moments, run->seen.arena,
	                         part(run, point->labels,
	                              instant_moment_key(run->secret, point->labels)),
	                         point->time_unix_ns, total, &total))
		return arena_error(run->seen.arena, err);
	return time_series_add(run->series, role->number, point->time_unix_ns, total,
	                       point->profile_id, err);
}

static enum time_series_mean mean_of(const struct read_query *query,
                                     enum series_aggregation aggregation)
{
	if (aggregation == SERIES_AGGREGATION_AVERAGE)
		return TIME_SERIES_AVERAGE;
	if (aggregation == SERIES_AGGREGATION_SUM)
		return TIME_SERIES_SUM;
	switch (read_query_merge(query)) {
	case PROFILE_MERGE_SUM:
		return TIME_SERIES_SUM;
	case PROFILE_MERGE_MAX:
		return TIME_SERIES_MAX_SERIES;
	default:
		return TIME_SERIES_MEAN_TICKS;
	}
}

static int scan_points(const struct read_query *query, enum time_series_mean mean,
                       struct series_run *run, struct error *err)
{
	const struct store_query asked = read_query_store(query);
	const struct uuid random = uuid_random();
	struct instant_question question = { .query = asked };

	memcpy(&run->secret, random.bytes, sizeof(run->secret));
	run->asked = asked.selector;
	if (mean == TIME_SERIES_MEAN_TICKS && instant_question_widen(&asked, &question, err) < 0)
		return -1;
	return store_scan(query->context.store, &question.query, add_point, run, err);
}

static bool groups_by(const struct time_series_options *options, const char *name)
{
	for (size_t i = 0; i < options->group_by_count; i++)
		if (str_equals(options->group_by[i], name))
			return true;
	return false;
}

int read_query_run_series(struct read_query *query, const struct time_series_options *options,
                          enum series_aggregation aggregation, struct time_series_result *out,
                          struct error *err)
{
	struct time_series_options whole = *options;
	struct series_run run = { .seen.arena = query->context.arena };

	*out = (struct time_series_result){ 0 };
	if (query->nothing || options->step_ms == 0)
		return 0;
	read_query_extend_range(query, options->step_ms);
	if (read_query_resolve_alias(query, err) < 0)
		return -1;
	whole.start_ms = query->start_ms;
	whole.end_ms = query->end_ms;
	whole.mean = mean_of(query, aggregation);
	run.has_maxima = whole.mean == TIME_SERIES_MAX_SERIES && !groups_by(&whole, "reason");
	run.has_gpus = groups_by(&whole, "gpu");
	if (time_series_new(&whole, query->context.arena, &run.series, err) < 0 ||
	    scan_points(query, whole.mean, &run, err) < 0)
		return -1;
	return time_series_finish(run.series, out, err);
}

/* ---- cells ---- */

struct heatmap_run {
	struct heatmap *heatmap;
	struct series_seen seen;
};

static int add_cell(struct heatmap_run *run, const struct label_set *labels,
                    const struct heatmap_point *point, struct error *err)
{
	const int is_new = series_seen_add(&run->seen, point->series);

	if (is_new < 0)
		return arena_error(run->seen.arena, err);
	if (is_new && heatmap_add_series(run->heatmap, point->series, labels, err) < 0)
		return -1;
	return heatmap_add(run->heatmap, point, err);
}

static int add_profile(void *context, const struct store_point *point, struct error *err)
{
	const struct heatmap_point cell = {
		.series = point->series,
		.time_unix_ns = point->time_unix_ns,
		.value = point->total,
		.profile_id = *point->profile_id,
	};

	return add_cell(context, point->labels, &cell, err);
}

static int add_span(void *context, const struct store_span *span, struct error *err)
{
	struct heatmap_point cell = {
		.series = span->series,
		.time_unix_ns = span->time_unix_ns,
		.value = span->value,
		.span_id = span->span_id,
	};

	memcpy(cell.trace_id.bytes, span->trace_id, TRACE_ID_SIZE);
	return add_cell(context, span->labels, &cell, err);
}

int read_query_run_heatmap(struct read_query *query, const struct heatmap_options *options,
                           enum heatmap_source source, struct heatmap_result *out,
                           struct error *err)
{
	struct heatmap_options whole = *options;
	struct heatmap_run run = { .seen.arena = query->context.arena };
	struct store_query question;
	int status;

	*out = (struct heatmap_result){ 0 };
	if (query->nothing || options->step_ms == 0)
		return 0;
	read_query_extend_range(query, options->step_ms);
	if (read_query_resolve_alias(query, err) < 0)
		return -1;
	whole.start_ms = query->start_ms;
	whole.end_ms = query->end_ms;
	question = read_query_store(query);
	if (heatmap_new(&whole, query->context.arena, &run.heatmap, err) < 0)
		return -1;
	status = source == HEATMAP_SPANS
	                 ? store_scan_spans(query->context.store, &question, add_span, &run, err)
	                 : store_scan(query->context.store, &question, add_profile, &run, err);
	return status < 0 ? -1 : heatmap_finish(run.heatmap, out, err);
}
