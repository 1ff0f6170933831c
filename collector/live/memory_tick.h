/*
 * What is published at a tick: the profiles of every process, into a sink.
 *
 * Shape    for each process and class one profile with four values a stack: bytes and
 *          calls since the last tick, live bytes and blocks at this one; one of all its
 *          classes as other collectors had it (malloc); one for each error of failed
 *          calls. Each byte that was allocated is in exactly one tick. What is live is
 *          written at each tick, else means over time are wrong; a process that runs and
 *          holds nothing has a profile without samples, and one such profile a tick says
 *          that this machine was watched.
 *          A process whose identity is late is in no tick; its deltas are in the first one
 *          after it is settled.
 *          A tick is one push, or several when it is larger than MEMORY_TICK_BYTES.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 3.2, 3.3, 3.4, 6.4
 */
#pragma once

#include "collector/live/gpu_process.h"
#include "collector/live/stack_profile.h"
#include "profile/profile_sink.h"

#define MEMORY_TICK_BYTES ((size_t)32 << 20) /* of profiles in one push */

struct memory_tick_options {
	const char *service_suffix; /* "-gpu" */
	const char *hostname;
	const char *cluster;
	const char *gpu; /* of all processes: "unknown", or the one there is */
	bool has_pid_label;
	struct profile_sink sink;
};

struct memory_tick;

/* Both tables outlive it; options are copied, their texts are not. */
struct memory_tick *memory_tick_new(const struct memory_tick_options *options,
                                    struct gpu_process_table *processes, struct stack_table *stacks)
	__attribute__((returns_nonnull));
void memory_tick_free(struct memory_tick *tick);
DEFINE_FREEP(memory_tick)

/*
 * Publishes, starts the deltas anew, and throws away stacks that nothing refers to any
 * more.
 */
void memory_tick_publish(struct memory_tick *tick, struct stack_profile_time time);

/* Profiles that did not fit any push; it should stay 0. */
uint64_t memory_tick_dropped(const struct memory_tick *tick);
