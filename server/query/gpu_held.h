/*
 * Bytes by stack: sums of samples, the largest first.
 *
 * Shape    a sum a node of gpu_stacks.h. It can be emptied, and used again.
 * Units    bytes; what does not fit an int64 stays at its end.
 * Errors   arena_error().
 * Threads  none.
 */
#pragma once

#include "server/query/gpu_stacks.h"

struct gpu_held_row {
	uint32_t node;
	int64_t bytes;
	struct gpu_stack stack; /* of the first ones; gpu_held_top() */
};

/* Zeroed but for the stacks, it is empty. */
struct gpu_held {
	struct gpu_stacks *stacks;
	uint32_t *row_of; /* by node: its row + 1; 0: none */
	size_t node_capacity;
	struct gpu_held_row *rows;
	size_t count;
	size_t capacity;
	int64_t total;
};

void gpu_held_clear(struct gpu_held *held);

int gpu_held_add(struct gpu_held *held, const struct store_samples *samples, struct error *err);

/* A copy of the largest `most` rows, with their names. */
struct gpu_held_top {
	struct gpu_held_row *rows;
	size_t count;
};

int gpu_held_take_top(struct gpu_held *held, size_t most, struct gpu_held_top *out,
                      struct error *err);
