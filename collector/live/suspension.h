/*
 * Processes that another one suspends: checkpoints of CUDA's driver.
 *
 * Shape    lock, checkpoint, restore, unlock, each called by whoever suspends, with the
 *          process as an argument. A locked process waits in its next driver call; what a
 *          checkpointed one holds on devices is on the host, and its addresses stay valid:
 *          so its books stay as they are, and only its state says what has happened.
 *          The argument is a number of the caller's pid namespace, which its event names: a
 *          process is found by its number there. What cannot be told for certain is nobody.
 *          A caller's driver may be anything that says success: who is not root can suspend
 *          no process of another user, so it is not believed.
 * Units    none.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 2.3; CUDA driver API, checkpointing
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/cuda_event.h"

enum suspension {
	SUSPENSION_NONE,
	SUSPENSION_LOCKED,
	SUSPENSION_CHECKPOINTED,
};

struct gpu_process_table; /* collector/live/gpu_process.h */

/* "locked", "checkpointed"; "": it runs. */
const char *suspension_name(enum suspension suspension);

/* Whether an event is a call that suspends a process, or lets it go on. */
bool suspension_is_of(const struct cuda_event *event);

/* Such a call that has succeeded. `proc` NULL: numbers are those of events. */
void suspension_see(struct gpu_process_table *processes, const char *proc,
                    const struct cuda_event *event);
