/*
 * What a process was told of its devices: how many it sees, and their UUIDs.
 *
 * Shape    by the numbers that the process has for them; those of DEVICES_MAX and more are
 *          passed over. It outlives the contexts of the process.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 2.5
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/cuda_event.h"

#define DEVICES_MAX       32 /* of a process; those behind are not told apart */
#define DEVICE_UUID_BYTES 16

struct told_devices {
	uint64_t count;    /* 0: not told */
	uint32_t has_uuid; /* bit N: of device N */
	uint8_t uuids[DEVICES_MAX][DEVICE_UUID_BYTES];
};

_Static_assert(DEVICES_MAX <= 32, "a bit each");

/* An event of kind DONE that tells of devices; of others nothing. */
void told_devices_book(struct told_devices *told, const struct cuda_event *event);

/* The UUID of the device that the process counts as `number`; NULL: it was not told. */
const uint8_t *told_devices_uuid(const struct told_devices *told, uint64_t number);
