/*
 * The devices of one process as they are published: what has one label is one.
 *
 * Shape    a group is the devices of a process, also the one that is not known, that have
 *          the same label `gpu`. The first group is that of the latter. Groups share no device:
 *          what a process holds is the sum of what they hold.
 * Units    devices are 1 + their number, 0 when not known; bytes.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 2.5, 3.2
 */
#pragma once

#include "collector/live/gpu_process.h"

struct device_group {
	const char *gpu;  /* borrowed from the process, until it is settled anew */
	uint64_t devices; /* bit N: device N */
};

struct device_groups {
	struct device_group groups[DEVICES_MAX + 1];
	size_t count; /* one at least */
};

_Static_assert(DEVICES_MAX < 64, "a bit each");

void device_groups_of(const struct gpu_process *process, struct device_groups *out);

static inline bool device_group_has(const struct device_group *group, uint16_t device)
{
	return group->devices >> device & 1;
}

/* What is booked of a class for the devices of the group. */
struct class_books device_group_books(const struct gpu_account *account,
                                      const struct device_group *group,
                                      enum cuda_class memory_class);

/* Live bytes that lie on GPUs, of the group's devices. */
wide_sum device_group_live(const struct gpu_account *account, const struct device_group *group);
