/*
 * Which of a machine's devices a process is on, by what it showed of itself; and which one a
 * number of its own is.
 *
 * Shape    only what is certain: there is one device; or CUDA_VISIBLE_DEVICES names one by
 *          its UUID; or the process has one of /dev/nvidiaN open. A number there counts
 *          among the devices that the process sees, in an order that is the driver's: it is
 *          certain where nothing hides devices (no container, no job) and where all are
 *          alike or in the order of buses. Two answers that differ are none.
 * Threads  none.
 * Source   collector specification 2.5
 */
#pragma once

#include "collector/device_picture.h"
#include "collector/identity/process_identity.h"
#include "collector/live/told_devices.h"

/* NULL: it is not certain. */
const struct device_reading *gpu_choice_find(const struct device_reading *devices, size_t count,
                                             const struct process_identity *identity);

/* The device of a UUID; NULL: none of these. */
const struct device_reading *gpu_choice_uuid(const struct device_reading *devices, size_t count,
                                             const uint8_t uuid[static DEVICE_UUID_BYTES]);

/* The device that the process counts as `number`; NULL: it is not certain. */
const struct device_reading *gpu_choice_number(const struct device_reading *devices, size_t count,
                                               const struct process_identity *identity,
                                               uint64_t number);
