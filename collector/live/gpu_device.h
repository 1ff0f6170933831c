/*
 * The devices that the driver's part of /proc lists.
 *
 * Shape    UUID, model and minor of each, in the order of their buses; of memory it says
 *          nothing, and devices that are cut into parts (MIG) look whole.
 * Errors   none: what does not say its UUID is not there.
 * Threads  none.
 * Source   collector specification 2.5
 */
#pragma once

#include "collector/device_picture.h"

/* At most PICTURE_DEVICES_MAX of those below `proc` ("/proc"); returns how many. */
size_t gpu_device_list(const char *proc, struct device_reading out[static PICTURE_DEVICES_MAX]);
