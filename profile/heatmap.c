#include "profile/heatmap.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "profile/label_groups.h"

/* A series that was added. */
struct member {
	uint32_t group; /* + 1, 0: not added */
	struct label_set rest;
};

/* A point with its cell, known at the end. */
struct cell_point {
	uint32_t group;
	uint32_t bucket;
	int64_t edge_ms;
	struct heatmap_exemplar exemplar; /* time, value, ids and labels */
};

struct heatmap {
	struct heatmap_options options;
	struct arena *arena;
	struct label_groups groups;
	struct member *members; /* by number */
	size_t member_count;
	size_t member_capacity;
	struct intern point_ids;
	struct cell_point *points;
	size_t point_count;
	size_t point_capacity;
};

int heatmap_new(const struct heatmap_options *options, struct arena *arena, struct heatmap **out,
                struct error *err)
{
	struct heatmap *heatmap = arena_alloc(arena, sizeof(*heatmap));

	assert(options->step_ms >= 1);
	if (!heatmap)
		return arena_error(arena, err);
	heatmap->options = *options;
	heatmap->arena = arena;
	label_groups_init(&heatmap->groups, arena, options->group_by, options->group_by_count);
	*out = heatmap;
	return 0;
}

int heatmap_add_series(struct heatmap *heatmap, uint32_t number, const struct label_set *labels,
                       struct error *err)
{
	struct member *member;
	uint32_t group;

	while (heatmap->member_count <= number) {
		if (!ARENA_GROW(heatmap->arena, heatmap->members, heatmap->member_count,
		                heatmap->member_capacity))
			return arena_error(heatmap->arena, err);
		heatmap->members[heatmap->member_count++] = (struct member){ 0 };
	}
	member = &heatmap->members[number];
	group = label_groups_add(&heatmap->groups, labels);
	if (group == LABEL_GROUPS_FULL ||
	    (heatmap->options.exemplars &&
	     !label_groups_rest(&heatmap->groups, labels, &member->rest)))
		return arena_error(heatmap->arena, err);
	member->group = group + 1;
	return 0;
}

static struct hash128 point_key(const struct heatmap *heatmap, const struct cell_point *point)
{
	struct {
		uint64_t group;
		int64_t time_ms;
		struct uuid profile_id;
		uint64_t span_id;
		struct trace_id trace_id;
	} key = {
		.group = point->group,
		.time_ms = point->exemplar.time_ms,
		.profile_id = point->exemplar.profile_id,
		.span_id = point->exemplar.span_id,
		.trace_id = point->exemplar.trace_id,
	};

	return hash128(heatmap->groups.secret, &key, sizeof(key));
}

static int64_t floor_ms(int64_t time_ns)
{
	const int64_t ms = time_ns / NS_PER_MS;

	return time_ns % NS_PER_MS < 0 ? ms - 1 : ms;
}

static struct cell_point cell_point_of(const struct heatmap *heatmap,
                                       const struct heatmap_point *point)
{
	const struct member *member = &heatmap->members[point->series];
	struct cell_point out = {
		.group = member->group - 1,
		.exemplar = {
			.time_ms = floor_ms(point->time_unix_ns),
			.value = point->value,
			.labels = member->rest,
		},
	};

	if (point->span_id == 0) {
		out.exemplar.profile_id = point->profile_id;
	} else {
		out.exemplar.span_id = point->span_id;
		out.exemplar.trace_id = point->trace_id;
	}
	return out;
}

int heatmap_add(struct heatmap *heatmap, const struct heatmap_point *point, struct error *err)
{
	struct heatmap_exemplar *known;
	struct cell_point added;
	bool is_new;
	uint32_t id;

	assert(point->series < heatmap->member_count && heatmap->members[point->series].group > 0);
	added = cell_point_of(heatmap, point);
	if (!ARENA_GROW(heatmap->arena, heatmap->points, heatmap->point_count,
	                heatmap->point_capacity))
		return arena_error(heatmap->arena, err);
	id = intern_add(&heatmap->point_ids, heatmap->arena, point_key(heatmap, &added), &is_new);
	if (id == INTERN_NONE)
		return arena_error(heatmap->arena, err);
	if (is_new) {
		heatmap->points[heatmap->point_count++] = added;
		return 0;
	}
	known = &heatmap->points[id].exemplar;
	known->value = (int64_t)((uint64_t)known->value + (uint64_t)point->value);
	if (heatmap->options.exemplars &&
	    !label_groups_common(&known->labels, &added.exemplar.labels, heatmap->arena,
	                         &known->labels))
		return arena_error(heatmap->arena, err);
	return 0;
}

/* The value axis that all slots share: where each bucket begins. */
struct axis {
	int64_t low;
	uint64_t starts[HEATMAP_BUCKETS]; /* distances from low */
	double *y_min;
};

static bool make_axis(const struct heatmap *heatmap, struct axis *out)
{
	int64_t low = heatmap->point_count ? heatmap->points[0].exemplar.value : 0;
	int64_t high = 0;
	double width;

	for (size_t i = 0; i < heatmap->point_count; i++) {
		const int64_t value = heatmap->points[i].exemplar.value;

		low = value < low ? value : low;
		high = value > high ? value : high;
	}
	width = low == high ? 1 : (double)((uint64_t)high - (uint64_t)low);
	width /= HEATMAP_BUCKETS;
	out->low = low;
	out->y_min = arena_array_raw(heatmap->arena, HEATMAP_BUCKETS, sizeof(*out->y_min));
	if (!out->y_min)
		return false;
	for (size_t i = 0; i < HEATMAP_BUCKETS; i++) {
		out->starts[i] = (uint64_t)((double)i * width);
		out->y_min[i] = (double)((__int128)low + out->starts[i]);
	}
	return true;
}

/* The first bucket that begins at or below the value and ends above it; else the last. */
static uint32_t bucket_of(const struct axis *axis, int64_t value)
{
	const uint64_t distance = (uint64_t)value - (uint64_t)axis->low;

	for (uint32_t i = 0; i + 1 < HEATMAP_BUCKETS; i++)
		if (axis->starts[i] <= distance && distance < axis->starts[i + 1])
			return i;
	return HEATMAP_BUCKETS - 1;
}

/* The first edge of the grid that is not before `time_ms`. */
static int64_t edge_of(const struct heatmap_options *options, int64_t time_ms)
{
	const __int128 behind = (__int128)time_ms - options->start_ms;
	const __int128 steps = behind <= 0 ? 0 : (behind + options->step_ms - 1) / options->step_ms;

	return (int64_t)(uint64_t)(options->start_ms + steps * options->step_ms);
}

/* Nothing is dropped: what lies before the grid or behind it stands at its ends. */
static void place_points(struct heatmap *heatmap, const struct axis *axis)
{
	const struct heatmap_options *options = &heatmap->options;

	for (size_t i = 0; i < heatmap->point_count; i++) {
		struct cell_point *point = &heatmap->points[i];
		const int64_t time_ms = point->exemplar.time_ms;

		point->edge_ms =
			edge_of(options, time_ms < options->end_ms ? time_ms : options->end_ms);
		point->bucket = bucket_of(axis, point->exemplar.value);
	}
}

static int compare_cells(const struct cell_point *a, const struct cell_point *b)
{
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->edge_ms != b->edge_ms)
		return a->edge_ms < b->edge_ms ? -1 : 1;
	return (a->bucket > b->bucket) - (a->bucket < b->bucket);
}

/* Of one cell the highest value first; then the earlier, then the smaller id. */
static int compare_points(const void *left, const void *right)
{
	const struct cell_point *a = left;
	const struct cell_point *b = right;
	const int order = compare_cells(a, b);

	if (order)
		return order;
	if (a->exemplar.value != b->exemplar.value)
		return a->exemplar.value > b->exemplar.value ? -1 : 1;
	if (a->exemplar.time_ms != b->exemplar.time_ms)
		return a->exemplar.time_ms < b->exemplar.time_ms ? -1 : 1;
	if (a->exemplar.span_id != b->exemplar.span_id)
		return a->exemplar.span_id < b->exemplar.span_id ? -1 : 1;
	return memcmp(&a->exemplar.profile_id, &b->exemplar.profile_id, sizeof(struct uuid));
}

/* Room for what a point can begin at most, taken once. */
struct room {
	struct heatmap_slot *slots;
	int32_t *counts;
	struct heatmap_exemplar *exemplars;
};

static bool take_room(const struct heatmap *heatmap, struct room *out)
{
	const size_t count = heatmap->point_count;
	size_t slot_count = 0;

	for (size_t i = 0; i < count; i++) {
		const struct cell_point *point = &heatmap->points[i];

		slot_count += i == 0 || point->group != point[-1].group ||
		              point->edge_ms != point[-1].edge_ms;
	}
	out->slots = arena_array(heatmap->arena, slot_count, sizeof(*out->slots));
	out->counts = arena_array(heatmap->arena, slot_count, HEATMAP_BUCKETS * sizeof(int32_t));
	out->exemplars = arena_array_raw(heatmap->arena, heatmap->options.exemplars ? count : 0,
	                                 sizeof(*out->exemplars));
	return out->slots && out->counts && out->exemplars;
}

/* A group while it is made, with its number of points for the order under a limit. */
struct counted_group {
	struct heatmap_group group;
	uint64_t point_count;
};

/* Sorted points become cells, slots and groups. Returns how many groups. */
static size_t make_groups(const struct heatmap *heatmap, const struct axis *axis, struct room *room,
                          struct counted_group *groups)
{
	size_t count = 0;

	for (size_t i = 0; i < heatmap->point_count; i++) {
		const struct cell_point *point = &heatmap->points[i];
		const bool new_group = i == 0 || point->group != point[-1].group;
		const bool new_slot = new_group || point->edge_ms != point[-1].edge_ms;
		const bool new_cell = new_slot || point->bucket != point[-1].bucket;
		struct heatmap_slot *slot;

		if (new_group)
			groups[count++] = (struct counted_group){
				{ heatmap->groups.groups[point->group], room->slots, 0 }, 0
			};
		if (new_slot) {
			*room->slots++ = (struct heatmap_slot){ point->edge_ms, axis->y_min,
				                                room->counts, room->exemplars, 0 };
			room->counts += HEATMAP_BUCKETS;
			groups[count - 1].group.slot_count++;
		}
		slot = room->slots - 1;
		slot->counts[point->bucket]++;
		groups[count - 1].point_count++;
		if (new_cell && heatmap->options.exemplars) {
			*room->exemplars++ = point->exemplar;
			slot->exemplar_count++;
		}
	}
	return count;
}

static int compare_by_labels(const void *left, const void *right)
{
	const struct counted_group *a = left;
	const struct counted_group *b = right;

	return label_set_compare(&a->group.labels, &b->group.labels);
}

static int compare_by_count(const void *left, const void *right)
{
	const struct counted_group *a = left;
	const struct counted_group *b = right;

	if (a->point_count != b->point_count)
		return a->point_count > b->point_count ? -1 : 1;
	return compare_by_labels(left, right);
}

int heatmap_finish(struct heatmap *heatmap, struct heatmap_result *out, struct error *err)
{
	struct arena *arena = heatmap->arena;
	const int64_t limit = heatmap->options.limit;
	struct counted_group *groups =
		arena_array_raw(arena, heatmap->groups.count, sizeof(*groups));
	struct heatmap_result result = { 0 };
	struct axis axis;
	struct room room;
	bool is_cut;

	result.groups = arena_array_raw(arena, heatmap->groups.count, sizeof(*result.groups));
	if (!groups || !result.groups || !make_axis(heatmap, &axis))
		return arena_error(arena, err);
	place_points(heatmap, &axis);
	if (heatmap->point_count > 0)
		qsort(heatmap->points, heatmap->point_count, sizeof(*heatmap->points),
		      compare_points);
	if (!take_room(heatmap, &room))
		return arena_error(arena, err);
	result.count = make_groups(heatmap, &axis, &room, groups);
	is_cut = limit > 0 && (uint64_t)limit < result.count;
	if (result.count > 0)
		qsort(groups, result.count, sizeof(*groups),
		      is_cut ? compare_by_count : compare_by_labels);
	if (is_cut)
		result.count = (size_t)limit;
	for (size_t i = 0; i < result.count; i++)
		result.groups[i] = groups[i].group;
	*out = result;
	return 0;
}
