/*
 * What a suspended process holds, as a profile of each tick while it is.
 *
 * Shape    live bytes on GPUs by stack, with the label `state`: it says in any store that
 *          reads profiles which processes were locked or checkpointed, and what of memory
 *          in use then was not on a device. Without samples where it holds nothing.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 2.3
 */
#pragma once

#include "collector/live/series_batch.h"

/* Nothing for a process that runs. */
void suspended_series_add(struct series_batch *batch, const struct gpu_process *process,
                          struct stack_profile_time time);
