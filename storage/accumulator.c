#include "storage/accumulator.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void accumulator_fini(struct accumulator *accumulator)
{
	if (accumulator->budget)
		budget_give(accumulator->budget, accumulator->bytes);
	free(accumulator->sums);
	free(accumulator->touched);
	*accumulator = (struct accumulator){ .budget = accumulator->budget };
}

int accumulator_reserve(struct accumulator *accumulator, uint32_t count, struct error *err)
{
	/* a little more than is there: a window that is being written grows */
	const uint32_t capacity = (count + count / 8 + ACCUMULATOR_RUN) & ~(ACCUMULATOR_RUN - 1u);
	const size_t bytes = (size_t)capacity * sizeof(int64_t) + capacity / ACCUMULATOR_RUN;
	int64_t *sums;
	uint8_t *touched;

	if (count <= accumulator->capacity)
		return 0;
	if (accumulator->budget && !budget_take(accumulator->budget, bytes))
		return error_set(err, ERROR_UNAVAILABLE, "memory limit: no room for %u sums",
		                 capacity);
	sums = mem_zalloc(capacity, sizeof(*sums));
	touched = mem_zalloc(capacity / ACCUMULATOR_RUN, 1);
	if (accumulator->capacity > 0) {
		memcpy(sums, accumulator->sums, accumulator->capacity * sizeof(*sums));
		memcpy(touched, accumulator->touched, accumulator->capacity / ACCUMULATOR_RUN);
	}
	accumulator_fini(accumulator);
	accumulator->sums = sums;
	accumulator->touched = touched;
	accumulator->capacity = capacity;
	accumulator->bytes = bytes;
	return 0;
}

static size_t count_sums(const struct accumulator *accumulator)
{
	size_t count = 0;

	for (uint32_t run = 0; run < accumulator->capacity / ACCUMULATOR_RUN; run++) {
		const int64_t *sums = accumulator->sums + ((size_t)run << ACCUMULATOR_RUN_BITS);

		for (int i = 0; accumulator->touched[run] && i < ACCUMULATOR_RUN; i++)
			count += sums[i] != 0;
	}
	return count;
}

int accumulator_take(struct accumulator *accumulator, struct arena *arena, struct stack_sums *out,
                     struct error *err)
{
	size_t count;
	uint32_t *stacks;
	int64_t *taken;

	if (accumulator->capacity > 0)
		accumulator->sums[0] = 0;
	count = count_sums(accumulator);
	stacks = arena_array_raw(arena, count, sizeof(*stacks));
	taken = arena_array_raw(arena, count, sizeof(*taken));
	if (!stacks || !taken)
		return arena_error(arena, err);
	count = 0;
	for (uint32_t run = 0; run < accumulator->capacity / ACCUMULATOR_RUN; run++) {
		const uint32_t first = run << ACCUMULATOR_RUN_BITS;

		if (!accumulator->touched[run])
			continue;
		accumulator->touched[run] = 0;
		for (uint32_t i = first; i < first + ACCUMULATOR_RUN; i++) {
			if (accumulator->sums[i] == 0)
				continue;
			stacks[count] = i;
			taken[count++] = accumulator->sums[i];
			accumulator->sums[i] = 0;
		}
	}
	out->stacks = stacks;
	out->sums = taken;
	out->count = count;
	return 0;
}
