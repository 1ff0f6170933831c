#include "server/query/gpu_devices.h"

#include <string.h>

#include "server/query/gpu_moments.h"

static int compare(const struct gpu_device_row *row, struct str hostname, struct str gpu)
{
	const int order = str_compare(row->hostname, hostname);

	return order ? order : str_compare(row->gpu, gpu);
}

/* Where that device stands, or would. */
static size_t place_of(const struct gpu_devices *devices, struct str hostname, struct str gpu)
{
	size_t first = 0;
	size_t end = devices->count;

	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (compare(&devices->rows[middle], hostname, gpu) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static void take(struct gpu_device_row *row, enum gpu_device_value which, int64_t bytes)
{
	switch (which) {
	case GPU_DEVICE_VALUE_USED:
		row->has_used = true;
		row->used_bytes = gpu_bytes_add(row->used_bytes, bytes);
		break;
	case GPU_DEVICE_VALUE_TOTAL:
		row->has_total = true;
		row->total_bytes = gpu_bytes_add(row->total_bytes, bytes);
		break;
	case GPU_DEVICE_VALUE_LIVE:
		row->live_bytes = gpu_bytes_add(row->live_bytes, bytes);
		break;
	}
}

int gpu_devices_add(struct gpu_devices *devices, struct arena *arena, struct str hostname,
                    struct str gpu, enum gpu_device_value which, int64_t bytes, struct error *err)
{
	const size_t at = place_of(devices, hostname, gpu);

	if (at == devices->count || compare(&devices->rows[at], hostname, gpu) != 0) {
		if (!ARENA_GROW(arena, devices->rows, devices->count, devices->capacity))
			return arena_error(arena, err);
		memmove(&devices->rows[at + 1], &devices->rows[at],
		        (devices->count - at) * sizeof(*devices->rows));
		devices->rows[at] = (struct gpu_device_row){ .hostname = hostname, .gpu = gpu };
		devices->count++;
	}
	take(&devices->rows[at], which, bytes);
	return 0;
}

void gpu_devices_finish(struct gpu_devices *devices)
{
	size_t kept = 0;

	for (size_t i = 0; i < devices->count; i++)
		if (devices->rows[i].has_total)
			devices->rows[kept++] = devices->rows[i];
	devices->count = kept;
}
