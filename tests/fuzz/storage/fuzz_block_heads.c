/*
 * Heads of blocks, and every column of what is in them. What is taken in can be searched.
 */
#include <stdint.h>

#include "storage/block_heads.h"

#define ARENA_BYTES ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const struct block_heads *heads, struct arena *arena)
{
	struct error err;
	int64_t *column;

	(void)block_heads_seqs(heads, arena, &column, &err);
	(void)block_heads_durations(heads, arena, &column, &err);
	(void)block_heads_received(heads, arena, &column, &err);
	for (uint32_t i = 0; i < heads->series_count; i++)
		(void)block_heads_totals(heads, i, arena, &column, &err);
	for (uint32_t i = 0; i < heads->profile_count; i++)
		(void)block_heads_id(heads, i);
	for (uint32_t i = 0; i < heads->group_count; i++) {
		const struct block_span all = block_heads_within(heads, i, INT64_MIN, INT64_MAX);

		if (block_heads_find(heads, heads->groups[i]) != i || all.first >= all.end)
			__builtin_trap();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct hash128 *origins;
	struct block_heads heads;
	struct error err;

	if (block_heads_decode(str_make(data, size), arena, &heads, &err) == 0) {
		read_all(&heads, arena);
		(void)block_origins_decode(str_make(data, size), heads.profile_count, arena,
		                           &origins, &err);
	}
	arena_free(arena);
	return 0;
}
