/*
 * What the devices of this machine say of themselves, at one moment.
 *
 * Shape    plain values that are copied: nothing in it refers to the library that was asked.
 *          A device that is cut into parts (MIG) is its parts, each with a UUID of its own;
 *          devices stand in the order of their buses. Who holds memory is told for a device
 *          at a time, and of a device either of all processes or of none.
 * Units    bytes; nanoseconds of the monotonic clock.
 * Threads  any, as values.
 * Source   collector specification 2.5, 3.5
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_TEXT         96  /* what a UUID or a model's name takes at most */
#define PICTURE_DEVICES_MAX 128 /* 16 devices of 7 parts each have room */
#define PICTURE_HOLDERS_MAX 4096

struct device_reading {
	char uuid[DEVICE_TEXT];
	char model[DEVICE_TEXT]; /* "": not told */
	uint32_t minor;          /* of /dev/nvidiaN; parts have that of the whole */
	bool has_minor;
	bool is_part;
	bool has_memory;
	bool has_holders; /* all that hold memory of it are among the picture's */
	uint64_t used_bytes;
	uint64_t total_bytes;
};

/* A process that holds memory of a device. */
struct device_holder {
	uint32_t tgid;
	uint32_t device; /* which of the picture's */
	bool has_bytes;
	uint64_t bytes;
};

struct device_picture {
	int64_t begun_mono_ns; /* when the first device was asked */
	int64_t mono_ns;       /* when it was finished */
	size_t device_count;
	size_t holder_count;
	struct device_reading devices[PICTURE_DEVICES_MAX];
	struct device_holder holders[PICTURE_HOLDERS_MAX];
};

/* Whether every device says who holds memory of it. */
static inline bool device_picture_knows_holders(const struct device_picture *picture)
{
	for (size_t i = 0; i < picture->device_count; i++)
		if (!picture->devices[i].has_holders)
			return false;
	return picture->device_count > 0;
}
