#include "collector/live/high_water.h"

#include "collector/live/gpu_account.h"

void high_water_begin(struct high_water *high, wide_sum live_bytes, int64_t unix_ns)
{
	*high = (struct high_water){ high->number + 1, live_bytes, unix_ns };
}

void high_water_keep(const struct high_water *high, struct memory_sum *sum)
{
	if (sum->kept_number == high->number)
		return;
	sum->kept_number = high->number;
	sum->kept_bytes = sum->live_bytes;
}

void high_water_rise(struct high_water *high, wide_sum live_bytes)
{
	if (live_bytes > high->bytes)
		high_water_begin(high, live_bytes, 0);
}

wide_sum high_water_of(const struct high_water *high, const struct memory_sum *sum)
{
	if (!cuda_class_is_gpu(sum->memory_class))
		return 0;
	return sum->kept_number == high->number ? sum->kept_bytes : sum->live_bytes;
}
