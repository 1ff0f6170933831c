/*
 * What goes wrong beside the loop, in the log: each kind as often as it helps.
 *
 * Errors   none.
 * Threads  none: the collector's.
 */
#pragma once

#include "collector/call_stacks.h"
#include "collector/device_round.h"
#include "collector/event_source.h"

/* The last trouble of where events come from, if there is any since it was asked. */
void trouble_log_source(const struct event_source *source);

/* Interpreters whose frames cannot be read. */
void trouble_log_stacks(struct call_stacks *stacks);

/* Likewise of whoever asks devices. */
void trouble_log_devices(struct device_round *round);
