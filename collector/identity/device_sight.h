/*
 * What a process shows of the GPUs that it may use, at its first sight.
 *
 * Shape    of its environment, as it was when its program began, CUDA_VISIBLE_DEVICES and
 *          CUDA_DEVICE_ORDER; of its open files those called /dev/nvidiaN, up to a bound:
 *          of a process with thousands it is not certain that there is one.
 * Errors   none: what cannot be read says nothing.
 * Threads  none.
 * Source   collector specification 2.5
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define DEVICE_SIGHT_NAME 96  /* of one device: UUIDs are shorter */
#define DEVICE_SIGHT_TEXT 720 /* of a list: 16 UUIDs have room */

enum device_sight_visible {
	DEVICES_ALL,     /* nothing says otherwise */
	DEVICES_ONE,     /* `visible` names it: a UUID, its beginning, or a number */
	DEVICES_SEVERAL, /* likewise, each behind a comma but the first */
	DEVICES_OTHER,   /* none, or what is not understood */
};

enum device_sight_open {
	DEVICE_FILES_NONE, /* or they cannot be read */
	DEVICE_FILES_ONE,  /* that with `open_minor` */
	DEVICE_FILES_SEVERAL,
};

struct device_sight {
	enum device_sight_visible visibility;
	enum device_sight_open opened;
	uint32_t open_minor;
	bool has_bus_order; /* numbers count devices in the order of their buses */
	char visible[DEVICE_SIGHT_TEXT];
};

/* Of the bytes of an environment. */
void device_sight_environment(struct str environment, struct device_sight *out);

/* Of the open files of a process below `proc` ("/proc"). */
void device_sight_files(const char *proc, uint32_t tgid, struct device_sight *out);
