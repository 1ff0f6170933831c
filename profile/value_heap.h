/*
 * The N largest of many values.
 *
 * Shape    a min-heap over the caller's array of `capacity` (> 0) values.
 * Threads  none.
 * Source   read specification, 3.7.2 and 3.9
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value_heap {
	int64_t *values;
	size_t count;
	size_t capacity;
};

/* Takes `value` in when it is among the largest so far. False when it is not. */
bool value_heap_offer(struct value_heap *heap, int64_t value);

/* The N-th largest value, or 0 while fewer than N were offered. */
static inline int64_t value_heap_threshold(const struct value_heap *heap)
{
	return heap->count < heap->capacity ? 0 : heap->values[0];
}
