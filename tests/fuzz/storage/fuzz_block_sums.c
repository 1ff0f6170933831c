/*
 * Sums of blocks: each group and series of what is taken in is added up.
 */
#include <stdint.h>

#include "storage/block_sums.h"

#define ARENA_BYTES ((size_t)64 << 20)
#define GROUPS_MAX  64                  /* that are added */
#define STACKS_MAX  ((uint32_t)1 << 20) /* that are added to */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_all(const struct block_sums *sums, struct arena *arena)
{
	struct accumulator accumulator = { 0 };
	uint32_t groups[GROUPS_MAX];
	struct error err;

	if (sums->largest_stack >= STACKS_MAX)
		return;
	if (accumulator_reserve(&accumulator, sums->largest_stack + 1, &err) < 0)
		__builtin_trap();
	for (uint32_t group = 0; group < GROUPS_MAX; group++)
		groups[group] = group;
	for (uint32_t series = 0; series < sums->series_count && series < 8; series++) {
		struct block_group_list list = { groups, GROUPS_MAX };

		if (sums->group_count < GROUPS_MAX)
			list.count = sums->group_count;
		(void)block_sums_add(sums, &list, series, arena, &accumulator, &err);
		list.count = 1;
		for (; list.indexes < groups + GROUPS_MAX && *list.indexes < sums->group_count;
		     list.indexes++)
			(void)block_sums_add(sums, &list, series, arena, &accumulator, &err);
	}
	accumulator_fini(&accumulator);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct block_sums sums;
	struct error err;

	if (block_sums_decode(str_make(data, size), arena, &sums, &err) == 0)
		add_all(&sums, arena);
	arena_free(arena);
	return 0;
}
