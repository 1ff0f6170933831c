/*
 * Asks all devices what they have, what is used of it, and by whom.
 *
 * Shape    a device that does not answer is left out, and one that does not say how much
 *          memory it has stands there without. Numbers that cannot be (more free or used
 *          than there is) are not told.
 * Units    bytes.
 * Errors   ERROR_UNAVAILABLE: the devices cannot even be counted.
 * Threads  none.
 * Source   NVML API reference; collector specification 2.5, 3.5
 */
#pragma once

#include "base/error.h"
#include "collector/device_picture.h"
#include "collector/nvml/nvml_calls.h"

/*
 * What the pids of NVML are worth. Drivers say those of the machine, or those of the
 * caller's namespace: they are the same where it is the initial one.
 */
enum nvml_pids {
	NVML_PIDS_OURS,
	NVML_PIDS_UNSURE, /* nobody is asked for them */
};

int nvml_reader_read(const struct nvml_calls *calls, enum nvml_pids pids,
                     struct device_picture *out, struct error *err);
