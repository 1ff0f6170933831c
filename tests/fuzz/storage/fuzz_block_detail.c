/*
 * Detail of blocks. Of what is taken in, a cut of all profiles adds up to what the rows by
 * profile add up to, for each series.
 */
#include <stdint.h>

#include "storage/block_rows.h"

#define ARENA_BYTES ((size_t)128 << 20)
#define STACKS_MAX  ((uint32_t)1 << 20) /* that are added to */
#define SERIES_MAX  4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum_of_rows(const struct block_rows *rows, uint32_t series)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < rows->firsts[rows->profile_count]; i++)
		sum += (uint64_t)rows->values[series][i];
	return sum;
}

static uint64_t sum_of_cut(const struct block_detail *detail, uint32_t series,
                           const struct block_span *all, struct arena *arena, int *out_result)
{
	struct accumulator accumulator = { 0 };
	struct error err;
	uint64_t sum = 0;

	if (accumulator_reserve(&accumulator, detail->largest_stack + 1, &err) < 0)
		__builtin_trap();
	*out_result = block_detail_add(detail, series, all, 1, arena, &accumulator, &err);
	for (uint32_t i = 0; i <= detail->largest_stack; i++)
		sum += (uint64_t)accumulator.sums[i];
	accumulator_fini(&accumulator);
	return sum;
}

static void compare(const struct block_detail *detail, struct arena *arena)
{
	static const uint32_t series[SERIES_MAX] = { 0, 1, 2, 3 };
	const struct block_span all = { 0, detail->profile_count };
	const uint32_t count = detail->series_count < SERIES_MAX ? detail->series_count
	                                                         : SERIES_MAX;
	struct block_rows rows;
	struct error err;

	if (detail->largest_stack >= STACKS_MAX ||
	    block_detail_rows(detail, &all, 1, series, count, arena, &rows, &err) < 0)
		return;
	for (uint32_t i = 0; i < count; i++) {
		int result;
		const uint64_t sum = sum_of_cut(detail, i, &all, arena, &result);

		if (result == 0 && sum != sum_of_rows(&rows, i))
			__builtin_trap();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct block_detail detail;
	struct error err;

	if (block_detail_decode(str_make(data, size), arena, &detail, &err) == 0)
		compare(&detail, arena);
	arena_free(arena);
	return 0;
}
