#include "profile/time_series.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "profile/label_groups.h"

/* A series that was added. */
struct member {
	uint32_t group; /* + 1, 0: not added */
	uint32_t source;
	struct label_set rest;
};

/* The profiles of one step and one unit: a group, or a source or a series in it. */
struct cell {
	int64_t step; /* of the grid, from 0 */
	uint32_t group;
	uint32_t clock; /* of the source in this step, where ticks count */
	uint64_t profile_count;
	__int128 sum; /* or the largest */
};

/* A profile that may become the exemplar of its group's point. */
struct candidate {
	int64_t step;
	uint32_t group;
	struct time_series_exemplar exemplar;
};

struct time_series {
	struct time_series_options options;
	struct arena *arena;
	struct label_groups groups;
	struct member *members; /* by number */
	size_t member_count;
	size_t member_capacity;
	struct intern tick_ids;  /* (source, time) */
	struct intern clock_ids; /* (source, step) */
	uint64_t *clocks;        /* how many ticks */
	size_t clock_capacity;
	struct intern cell_ids;
	struct cell *cells;
	size_t cell_count;
	size_t cell_capacity;
	struct intern candidate_ids;
	struct candidate *candidates;
	size_t candidate_count;
	size_t candidate_capacity;
};

int time_series_new(const struct time_series_options *options, struct arena *arena,
                    struct time_series **out, struct error *err)
{
	struct time_series *series = arena_alloc(arena, sizeof(*series));

	assert(options->step_ms >= 1);
	if (!series)
		return arena_error(arena, err);
	series->options = *options;
	series->arena = arena;
	label_groups_init(&series->groups, arena, options->group_by, options->group_by_count);
	*out = series;
	return 0;
}

int time_series_add_series(struct time_series *series, uint32_t number, uint32_t source,
                           const struct label_set *labels, struct error *err)
{
	struct member *member;
	uint32_t group;

	while (series->member_count <= number) {
		if (!ARENA_GROW(series->arena, series->members, series->member_count,
		                series->member_capacity))
			return arena_error(series->arena, err);
		series->members[series->member_count++] = (struct member){ 0 };
	}
	member = &series->members[number];
	group = label_groups_add(&series->groups, labels);
	if (group == LABEL_GROUPS_FULL ||
	    (series->options.exemplars &&
	     !label_groups_rest(&series->groups, labels, &member->rest)))
		return arena_error(series->arena, err);
	member->group = group + 1;
	member->source = source;
	return 0;
}

static int64_t floor_ms(int64_t time_ns)
{
	const int64_t ms = time_ns / NS_PER_MS;

	return time_ns % NS_PER_MS < 0 ? ms - 1 : ms;
}

/* The step that a time belongs to: the first whose right edge is not before it. */
static bool step_of(const struct time_series_options *options, int64_t time_ms, int64_t *out)
{
	const __int128 behind = (__int128)time_ms - options->start_ms;
	__int128 step = 0;

	if (behind < -(__int128)options->step_ms)
		return false;
	if (behind > 0)
		step = (behind + options->step_ms - 1) / options->step_ms;
	*out = (int64_t)step;
	return options->start_ms + step * options->step_ms <= options->end_ms;
}

static struct hash128 key_of(const struct time_series *series, uint32_t a, uint32_t b, int64_t c)
{
	const struct {
		uint32_t a;
		uint32_t b;
		int64_t c;
	} key = { a, b, c };

	return hash128(series->groups.secret, &key, sizeof(key));
}

/*
 * The clock of a source in a step, which ticks when the time is new. INTERN_NONE: the
 * arena is full.
 */
static uint32_t tick(struct time_series *series, uint32_t source, int64_t step,
                     int64_t time_unix_ns)
{
	bool is_new;
	uint32_t clock;

	if (!ARENA_GROW(series->arena, series->clocks, series->clock_ids.count,
	                series->clock_capacity))
		return INTERN_NONE;
	clock = intern_add(&series->clock_ids, series->arena, key_of(series, source, 0, step),
	                   &is_new);
	if (clock == INTERN_NONE)
		return clock;
	if (is_new)
		series->clocks[clock] = 0;
	if (intern_add(&series->tick_ids, series->arena, key_of(series, source, 0, time_unix_ns),
	               &is_new) == INTERN_NONE)
		return INTERN_NONE;
	series->clocks[clock] += is_new;
	return clock;
}

/* What is added up by itself before groups are: a part of the cell's key. */
static uint32_t unit_of(const struct time_series *series, uint32_t number)
{
	switch (series->options.mean) {
	case TIME_SERIES_MEAN_TICKS:
		return series->members[number].source;
	case TIME_SERIES_MAX_SERIES:
		return number;
	default:
		return 0;
	}
}

static bool add_to_cell(struct time_series *series, uint32_t number, const struct cell *place,
                        int64_t total)
{
	const uint32_t unit = unit_of(series, number);
	struct cell *cell;
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(series->arena, series->cells, series->cell_count, series->cell_capacity))
		return false;
	id = intern_add(&series->cell_ids, series->arena,
	                key_of(series, place->group, unit, place->step), &is_new);
	if (id == INTERN_NONE)
		return false;
	cell = &series->cells[id];
	if (is_new) {
		*cell = *place;
		series->cell_count++;
	}
	if (series->options.mean != TIME_SERIES_MAX_SERIES)
		cell->sum += total;
	else if (is_new || total > cell->sum)
		cell->sum = total;
	cell->profile_count++;
	return true;
}

static struct hash128 candidate_key(const struct time_series *series, uint32_t group, int64_t step,
                                    int64_t time_ms, const struct uuid *id)
{
	struct {
		uint64_t group;
		int64_t step;
		int64_t time_ms;
		struct uuid id;
	} key = { group, step, time_ms, *id };

	return hash128(series->groups.secret, &key, sizeof(key));
}

/* Series that share a profile and its time count as one, with the labels they share. */
static bool add_candidate(struct time_series *series, const struct candidate *candidate)
{
	const struct hash128 key = candidate_key(series, candidate->group, candidate->step,
	                                         candidate->exemplar.time_ms,
	                                         &candidate->exemplar.profile_id);
	struct candidate *known;
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(series->arena, series->candidates, series->candidate_count,
	                series->candidate_capacity))
		return false;
	id = intern_add(&series->candidate_ids, series->arena, key, &is_new);
	if (id == INTERN_NONE)
		return false;
	if (is_new) {
		series->candidates[series->candidate_count++] = *candidate;
		return true;
	}
	known = &series->candidates[id];
	known->exemplar.value =
		(int64_t)((uint64_t)known->exemplar.value + (uint64_t)candidate->exemplar.value);
	return label_groups_common(&known->exemplar.labels, &candidate->exemplar.labels,
	                           series->arena, &known->exemplar.labels);
}

int time_series_add(struct time_series *series, uint32_t number, int64_t time_unix_ns,
                    int64_t total, const struct uuid *id, struct error *err)
{
	struct candidate candidate = { .exemplar = { floor_ms(time_unix_ns), *id, total, { 0 } } };
	const struct member *member = &series->members[number];
	struct cell place = { 0 };

	assert(number < series->member_count && member->group > 0);
	candidate.group = member->group - 1;
	candidate.exemplar.labels = member->rest;
	if (!step_of(&series->options, candidate.exemplar.time_ms, &candidate.step))
		return 0;
	place.group = candidate.group;
	place.step = candidate.step;
	if (series->options.mean == TIME_SERIES_MEAN_TICKS)
		place.clock = tick(series, member->source, place.step, time_unix_ns);
	if (place.clock == INTERN_NONE || !add_to_cell(series, number, &place, total) ||
	    (series->options.exemplars && !add_candidate(series, &candidate)))
		return arena_error(series->arena, err);
	return 0;
}

int time_series_add_tick(struct time_series *series, uint32_t source, int64_t time_unix_ns,
                         struct error *err)
{
	int64_t step;

	if (series->options.mean != TIME_SERIES_MEAN_TICKS ||
	    !step_of(&series->options, floor_ms(time_unix_ns), &step))
		return 0;
	return tick(series, source, step, time_unix_ns) == INTERN_NONE
	               ? arena_error(series->arena, err)
	               : 0;
}

static int compare_cells(const void *left, const void *right)
{
	const struct cell *a = left;
	const struct cell *b = right;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->step > b->step) - (a->step < b->step);
}

/* Of one point the highest value first; then the earlier, then the smaller id. */
static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left;
	const struct candidate *b = right;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->exemplar.value != b->exemplar.value)
		return a->exemplar.value > b->exemplar.value ? -1 : 1;
	if (a->exemplar.time_ms != b->exemplar.time_ms)
		return a->exemplar.time_ms < b->exemplar.time_ms ? -1 : 1;
	return memcmp(&a->exemplar.profile_id, &b->exemplar.profile_id, sizeof(struct uuid));
}

static int compare_groups(const void *left, const void *right)
{
	const struct time_series_group *a = left;
	const struct time_series_group *b = right;

	if (a->sum != b->sum)
		return a->sum > b->sum ? -1 : 1;
	return label_set_compare(&a->labels, &b->labels);
}

static double cell_value(const struct time_series *series, const struct cell *cell)
{
	switch (series->options.mean) {
	case TIME_SERIES_AVERAGE:
		return (double)cell->sum / (double)cell->profile_count;
	case TIME_SERIES_MEAN_TICKS:
		return (double)cell->sum / (double)series->clocks[cell->clock];
	default:
		return (double)cell->sum;
	}
}

/* The best candidate of a point; *at moves on, since points and candidates come in one
 * order. */
static const struct time_series_exemplar *best_of(struct time_series *series,
                                                  const struct cell *cell, size_t *at)
{
	while (*at < series->candidate_count) {
		const struct candidate *candidate = &series->candidates[*at];
		const struct cell place = { .group = candidate->group, .step = candidate->step };

		if (compare_cells(&place, cell) >= 0)
			break;
		++*at;
	}
	if (*at == series->candidate_count)
		return NULL;
	return &series->candidates[*at].exemplar;
}

/* The right edge of a step; step_of() has seen that it is not past end_ms. */
static int64_t edge_of(const struct time_series_options *options, int64_t step)
{
	return (int64_t)(options->start_ms + (__int128)step * options->step_ms);
}

/* Sorted cells become points, and runs of one group groups. */
static void make_groups(struct time_series *series, struct time_series_point *points,
                        struct time_series_result *out)
{
	size_t candidate = 0;

	for (size_t i = 0; i < series->cell_count; i++) {
		const struct cell *cell = &series->cells[i];
		const struct cell *before = i > 0 ? cell - 1 : NULL;
		const double value = cell_value(series, cell);
		struct time_series_group *group;

		if (!before || before->group != cell->group)
			out->groups[out->count++] = (struct time_series_group){
				.labels = series->groups.groups[cell->group],
				.points = points,
			};
		group = &out->groups[out->count - 1];
		group->sum += value;
		if (before && compare_cells(before, cell) == 0) {
			points[-1].value += value;
			continue;
		}
		*points++ = (struct time_series_point){
			.time_ms = edge_of(&series->options, cell->step),
			.value = value,
			.exemplar = best_of(series, cell, &candidate),
		};
		group->point_count++;
	}
}

int time_series_finish(struct time_series *series, struct time_series_result *out,
                       struct error *err)
{
	struct time_series_result result = { 0 };
	struct time_series_point *points =
		arena_array_raw(series->arena, series->cell_count, sizeof(*points));

	result.groups =
		arena_array_raw(series->arena, series->groups.count, sizeof(*result.groups));
	if (!points || !result.groups)
		return arena_error(series->arena, err);
	if (series->cell_count > 0)
		qsort(series->cells, series->cell_count, sizeof(*series->cells), compare_cells);
	if (series->candidate_count > 0)
		qsort(series->candidates, series->candidate_count, sizeof(*series->candidates),
		      compare_candidates);
	make_groups(series, points, &result);
	if (result.count > 0)
		qsort(result.groups, result.count, sizeof(*result.groups), compare_groups);
	if (series->options.limit > 0 && (uint64_t)series->options.limit < result.count)
		result.count = (size_t)series->options.limit;
	*out = result;
	return 0;
}
