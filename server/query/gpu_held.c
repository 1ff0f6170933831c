#include "server/query/gpu_held.h"

#include <stdlib.h>

#include "server/query/gpu_moments.h"

void gpu_held_clear(struct gpu_held *held)
{
	for (size_t i = 0; i < held->count; i++)
		held->row_of[held->rows[i].node] = 0;
	held->count = 0;
	held->total = 0;
}

static int add_row(struct gpu_held *held, uint32_t node, int64_t bytes, struct error *err)
{
	struct arena *arena = held->stacks->arena;

	while (node >= held->node_capacity) {
		const size_t before = held->node_capacity;

		if (!arena_grow(arena, (void **)&held->row_of, sizeof(*held->row_of),
		                &held->node_capacity))
			return arena_error(arena, err);
		memset(held->row_of + before, 0,
		       (held->node_capacity - before) * sizeof(*held->row_of));
	}
	if (held->row_of[node] == 0) {
		if (!ARENA_GROW(arena, held->rows, held->count, held->capacity))
			return arena_error(arena, err);
		held->rows[held->count++] = (struct gpu_held_row){ .node = node };
		held->row_of[node] = (uint32_t)held->count;
	}
	held->rows[held->row_of[node] - 1].bytes =
		gpu_bytes_add(held->rows[held->row_of[node] - 1].bytes, bytes);
	held->total = gpu_bytes_add(held->total, bytes);
	return 0;
}

int gpu_held_add(struct gpu_held *held, const struct store_samples *samples, struct error *err)
{
	for (size_t i = 0; i < samples->count; i++) {
		const uint32_t node = gpu_stacks_node(held->stacks, samples, samples->stacks[i]);

		if (node == FUNCTION_TREE_NONE)
			return arena_error(held->stacks->arena, err);
		if (add_row(held, node, samples->values[i], err) < 0)
			return -1;
	}
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	const struct gpu_held_row *a = left;
	const struct gpu_held_row *b = right;
	const int order = (b->bytes > a->bytes) - (b->bytes < a->bytes);

	return order ? order : (a->node > b->node) - (a->node < b->node);
}

int gpu_held_take_top(struct gpu_held *held, size_t most, struct gpu_held_top *out,
                      struct error *err)
{
	struct arena *arena = held->stacks->arena;
	struct gpu_held_row *rows = arena_array(arena, held->count + 1, sizeof(*rows));

	if (!rows)
		return arena_error(arena, err);
	if (held->count > 0)
		memcpy(rows, held->rows, held->count * sizeof(*rows));
	if (held->count > 1)
		qsort(rows, held->count, sizeof(*rows), compare_rows);
	*out = (struct gpu_held_top){ rows, held->count < most ? held->count : most };
	for (size_t i = 0; i < out->count; i++)
		if (!gpu_stacks_names(held->stacks, rows[i].node, &rows[i].stack))
			return arena_error(arena, err);
	return 0;
}
