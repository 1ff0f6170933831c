#include "server/query/gpu_ticks.h"

#include <stdlib.h>

static int need_node(struct gpu_ticks *ticks, uint32_t node, struct error *err)
{
	while (node >= ticks->node_capacity)
		if (!arena_grow(ticks->arena, (void **)&ticks->nodes, sizeof(*ticks->nodes),
		                &ticks->node_capacity))
			return arena_error(ticks->arena, err);
	for (; ticks->node_count <= node; ticks->node_count++)
		ticks->nodes[ticks->node_count] =
			(struct gpu_tick_list){ .interval_ns = GPU_INTERVAL_DEFAULT_NS };
	return 0;
}

int gpu_ticks_add(struct gpu_ticks *ticks, uint32_t node, int64_t time_ns, struct error *err)
{
	const struct hash128 tick = { (uint64_t)time_ns, node };
	struct gpu_tick_list *list;
	bool is_new;

	if (need_node(ticks, node, err) < 0)
		return -1;
	list = &ticks->nodes[node];
	/* most often the profiles of one tick come one after the other */
	if (list->count > 0 && list->times[list->count - 1] == time_ns)
		return 0;
	if (intern_add(&ticks->seen, ticks->arena, hash128(0, &tick, sizeof(tick)), &is_new) ==
	    INTERN_NONE)
		return arena_error(ticks->arena, err);
	if (!is_new)
		return 0;
	if (!ARENA_GROW(ticks->arena, list->times, list->count, list->capacity))
		return arena_error(ticks->arena, err);
	list->times[list->count++] = time_ns;
	return 0;
}

static int compare_numbers(const void *left, const void *right)
{
	const int64_t a = *(const int64_t *)left;
	const int64_t b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static int measure_interval(struct gpu_ticks *ticks, struct gpu_tick_list *list, struct error *err)
{
	int64_t *distances;

	if (list->count < 2)
		return 0;
	distances = arena_array_raw(ticks->arena, list->count - 1, sizeof(*distances));
	if (!distances)
		return arena_error(ticks->arena, err);
	for (size_t i = 0; i + 1 < list->count; i++)
		distances[i] = list->times[i + 1] - list->times[i];
	qsort(distances, list->count - 1, sizeof(*distances), compare_numbers);
	list->interval_ns = distances[(list->count - 2) / 2];
	arena_undo(ticks->arena, distances, (list->count - 1) * sizeof(*distances));
	return 0;
}

int gpu_ticks_finish(struct gpu_ticks *ticks, struct error *err)
{
	for (size_t i = 0; i < ticks->node_count; i++) {
		struct gpu_tick_list *list = &ticks->nodes[i];

		if (list->count > 1)
			qsort(list->times, list->count, sizeof(*list->times), compare_numbers);
		if (measure_interval(ticks, list, err) < 0)
			return -1;
	}
	return 0;
}

int64_t gpu_ticks_interval_ns(const struct gpu_ticks *ticks, uint32_t node)
{
	return node < ticks->node_count ? ticks->nodes[node].interval_ns : GPU_INTERVAL_DEFAULT_NS;
}

int64_t gpu_ticks_newest(const struct gpu_ticks *ticks, uint32_t node)
{
	const struct gpu_tick_list *list = node < ticks->node_count ? &ticks->nodes[node] : NULL;

	return list && list->count > 0 ? list->times[list->count - 1] : INT64_MIN;
}

size_t gpu_tick_list_until(const struct gpu_tick_list *list, int64_t at_ns)
{
	size_t low = 0;
	size_t high = list->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (list->times[middle] <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether a tick is older than two intervals, whose double may not fit. */
static bool is_gap(const struct gpu_tick_list *list, int64_t tick_ns, int64_t at_ns)
{
	return at_ns - tick_ns - list->interval_ns > list->interval_ns;
}

bool gpu_ticks_at(const struct gpu_ticks *ticks, uint32_t node, int64_t at_ns, int64_t *out_ns)
{
	const struct gpu_tick_list *list;
	size_t passed;

	if (node >= ticks->node_count)
		return false;
	list = &ticks->nodes[node];
	passed = gpu_tick_list_until(list, at_ns);
	if (passed == 0 || is_gap(list, list->times[passed - 1], at_ns))
		return false;
	*out_ns = list->times[passed - 1];
	return true;
}

void gpu_ticks_sample(const struct gpu_ticks *ticks, uint32_t node, struct gpu_moment_range moments,
                      int64_t missing, int64_t *out_ns)
{
	static const struct gpu_tick_list none = { 0 };
	const struct gpu_tick_list *list = node < ticks->node_count ? &ticks->nodes[node] : &none;
	size_t passed = 0; /* ticks at or before the moment */

	for (size_t i = 0; i < moments.count; i++) {
		const int64_t at_ns = moments.start_ns + (int64_t)i * moments.step_ns;

		while (passed < list->count && list->times[passed] <= at_ns)
			passed++;
		out_ns[i] = passed > 0 && !is_gap(list, list->times[passed - 1], at_ns)
		                    ? list->times[passed - 1]
		                    : missing;
	}
}
