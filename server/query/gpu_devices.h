/*
 * Devices at one moment: what they say of themselves, and what processes hold of them.
 *
 * Shape    a device is a node and what series call it (the label gpu). What is live there
 *          is that of all processes that are on it for certain, whoever was asked for.
 * Units    bytes; what does not fit an int64 stays at its end.
 * Errors   arena_error().
 * Threads  none.
 * Source   own API specification; collector specification, 3.6
 */
#pragma once

#include "base/arena.h"

struct gpu_device_row {
	struct str hostname;
	struct str gpu;
	bool has_used;
	bool has_total; /* else it has not told of itself: it is none */
	int64_t used_bytes;
	int64_t total_bytes;
	int64_t live_bytes;
};

/* By hostname, then gpu. */
struct gpu_devices {
	struct gpu_device_row *rows;
	size_t count;
	size_t capacity;
};

enum gpu_device_value {
	GPU_DEVICE_VALUE_USED,
	GPU_DEVICE_VALUE_TOTAL,
	GPU_DEVICE_VALUE_LIVE,
};

/* Both texts outlive the devices. */
int gpu_devices_add(struct gpu_devices *devices, struct arena *arena, struct str hostname,
                    struct str gpu, enum gpu_device_value which, int64_t bytes, struct error *err);

/* Leaves those that have told of themselves. */
void gpu_devices_finish(struct gpu_devices *devices);
