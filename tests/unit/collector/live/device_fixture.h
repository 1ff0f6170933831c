/*
 * Pictures as devices would give them.
 */
#pragma once

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/live/device_books.h"

#define STALE_NS (3600 * NS_PER_S)

/* Devices "GPU-0", "GPU-1", ... of 1000 bytes, of which that much is used; free() it. */
static inline struct device_picture *picture_of(const uint64_t *used_bytes, size_t count)
{
	struct device_picture *picture = mem_zalloc(1, sizeof(*picture));

	picture->mono_ns = clock_mono_ns();
	picture->device_count = count;
	for (size_t i = 0; i < count; i++) {
		struct device_reading *device = &picture->devices[i];

		(void)snprintf(device->uuid, sizeof(device->uuid), "GPU-%zu", i);
		device->has_memory = device->has_holders = true;
		device->used_bytes = used_bytes[i];
		device->total_bytes = 1000;
	}
	return picture;
}

static inline void picture_add(struct device_picture *picture, uint32_t device, uint32_t tgid,
                               uint64_t bytes)
{
	picture->holders[picture->holder_count++] = (struct device_holder){
		.tgid = tgid, .device = device, .has_bytes = true, .bytes = bytes
	};
}

static inline struct device_books *empty_books(void)
{
	return device_books_new(&(struct device_books_options){ .stale_ns = STALE_NS });
}
