#include "server/query/gpu_moments.h"

int64_t gpu_bytes_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

int64_t gpu_bytes_subtract(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return b < 0 ? INT64_MAX : INT64_MIN;
	return difference;
}

int gpu_moments_add(struct gpu_moments *moments, const struct gpu_role *role,
                    const struct store_point *point, struct error *err)
{
	const uint64_t parts[] = { role->process, (uint64_t)point->time_unix_ns, role->measure };
	bool is_new;
	const uint32_t number = intern_add(&moments->ids, moments->arena,
	                                   hash128(0, parts, sizeof(parts)), &is_new);
	struct gpu_moment *moment;

	if (number == INTERN_NONE)
		return arena_error(moments->arena, err);
	if (is_new && !ARENA_GROW(moments->arena, moments->items, number, moments->capacity))
		return arena_error(moments->arena, err);
	moment = &moments->items[number];
	if (is_new)
		*moment = (struct gpu_moment){ role->process, point->time_unix_ns, 0 };
	moment->bytes = gpu_bytes_add(moment->bytes, point->total);
	return 0;
}

struct gpu_moment *gpu_moments_peaks(const struct gpu_moments *moments, size_t process_count)
{
	struct gpu_moment *peaks = arena_array(moments->arena, process_count + 1, sizeof(*peaks));

	for (size_t i = 0; peaks && i < moments->ids.count; i++) {
		const struct gpu_moment *moment = &moments->items[i];
		struct gpu_moment *peak = &peaks[moment->process];

		if (moment->bytes > peak->bytes ||
		    (moment->bytes == peak->bytes && moment->time_ns < peak->time_ns))
			*peak = *moment;
	}
	return peaks;
}
