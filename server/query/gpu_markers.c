#include "server/query/gpu_markers.h"

#include <stdlib.h>

const char *gpu_marker_kind_name(enum gpu_marker_kind kind)
{
	static const char *const names[] = {
		[GPU_MARKER_OOM] = "oom",
		[GPU_MARKER_START] = "start",
		[GPU_MARKER_EXIT] = "exit",
		[GPU_MARKER_PEAK] = "peak",
	};

	return names[kind];
}

int gpu_marker_list_add(struct gpu_marker_list *list, struct arena *arena,
                        const struct gpu_marker *marker, struct error *err)
{
	if (!ARENA_GROW(arena, list->items, list->count, list->capacity))
		return arena_error(arena, err);
	list->items[list->count++] = *marker;
	return 0;
}

static int compare_times(const void *left, const void *right)
{
	const struct gpu_marker *a = left;
	const struct gpu_marker *b = right;
	int order = (a->time_ms > b->time_ms) - (a->time_ms < b->time_ms);

	if (order == 0)
		order = (a->kind > b->kind) - (a->kind < b->kind);
	return order ? order : (a->number > b->number) - (a->number < b->number);
}

static int compare_weights(const void *left, const void *right)
{
	const struct gpu_marker *a = left;
	const struct gpu_marker *b = right;
	int order = (b->kind == GPU_MARKER_OOM) - (a->kind == GPU_MARKER_OOM);

	if (order == 0)
		order = (b->bytes > a->bytes) - (b->bytes < a->bytes);
	return order ? order : compare_times(left, right);
}

void gpu_marker_list_finish(struct gpu_marker_list *list)
{
	if (list->count > GPU_MARKERS_MAX) {
		qsort(list->items, list->count, sizeof(*list->items), compare_weights);
		list->count = GPU_MARKERS_MAX;
	}
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(*list->items), compare_times);
}
