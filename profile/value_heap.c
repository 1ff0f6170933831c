#include "profile/value_heap.h"

static void sift_up(int64_t *values, size_t at)
{
	const int64_t value = values[at];

	while (at > 0 && values[(at - 1) / 2] > value) {
		values[at] = values[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	values[at] = value;
}

static void sift_down(int64_t *values, size_t count, int64_t value)
{
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= count)
			break;
		if (child + 1 < count && values[child + 1] < values[child])
			child++;
		if (values[child] >= value)
			break;
		values[at] = values[child];
		at = child;
	}
	values[at] = value;
}

bool value_heap_offer(struct value_heap *heap, int64_t value)
{
	if (heap->count < heap->capacity) {
		heap->values[heap->count] = value;
		sift_up(heap->values, heap->count++);
		return true;
	}
	if (value <= heap->values[0])
		return false;
	sift_down(heap->values, heap->count, value);
	return true;
}
