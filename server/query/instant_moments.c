#include "server/query/instant_moments.h"

bool instant_moments_add(struct instant_moments *moments, struct arena *arena, struct hash128 key,
                         int64_t time_unix_ns, int64_t total, int64_t *out_sum)
{
	const struct hash128 parts[] = { key, { (uint64_t)time_unix_ns, 0 } };
	bool is_new;
	const uint32_t id =
		intern_add(&moments->ids, arena, hash128(key.low, parts, sizeof(parts)), &is_new);

	if (id == INTERN_NONE ||
	    (is_new && !ARENA_GROW(arena, moments->sums, id, moments->capacity)))
		return false;
	if (is_new)
		moments->sums[id] = 0;
	if (__builtin_add_overflow(moments->sums[id], total, &moments->sums[id]))
		moments->sums[id] = INT64_MAX;
	*out_sum = moments->sums[id];
	return true;
}
