/*
 * Which processes hold memory of a device, and how much.
 *
 * Shape    a process may stand in several lists of NVML (compute, graphics), each time with
 *          all that it holds: the most of it counts once. Drivers write structs of three
 *          sizes behind the same name (16, 24 and, in some of the 535 series, 32 bytes):
 *          which one it was is told by where the last byte was written.
 * Units    bytes.
 * Errors   none: false when the list of a device is not told, or not whole.
 * Threads  none.
 * Source   NVML API reference; collector specification 3.5
 */
#pragma once

#include "collector/device_picture.h"
#include "collector/nvml/nvml_calls.h"

/*
 * Adds the processes of a device, the picture's number `device`. What is more than the
 * device has (`most_bytes`) is not told. False: nothing was added.
 */
bool nvml_holders_read(const struct nvml_calls *calls, struct nvml_device *device, uint32_t number,
                       uint64_t most_bytes, struct device_picture *out);
