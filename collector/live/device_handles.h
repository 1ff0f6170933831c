/*
 * The streams and pools of one process: on which device lies what is allocated by them.
 *
 * Shape    a stream is of the context that was current when it was made, a pool of its
 *          device. Both are known where the process sees several devices (cuda_function.h).
 * Units    devices are 1 + their number, 0 when not known.
 * Errors   none: what finds no room is not known.
 * Threads  none: the collector's.
 * Source   collector specification 2.3, 2.5
 */
#pragma once

#include "collector/live/device_contexts.h"
#include "collector/live/live_table.h"

struct device_handles {
	struct live_table streams; /* with the number of their context */
	struct live_table pools;   /* with their device, in `sum` */
};

/* The budget outlives them. */
void device_handles_init(struct device_handles *handles, struct budget *budget);
void device_handles_fini(struct device_handles *handles);

/* An event of kind DONE about streams and pools; of others nothing. */
void device_handles_book(struct device_handles *handles, struct device_contexts *contexts,
                         const struct cuda_event *event);

/* The device of a stream or pool, 0: not known; false: it is none that was seen. */
bool device_handles_find(const struct device_handles *handles,
                         const struct device_contexts *contexts, uint64_t handle,
                         uint16_t *out_device);
