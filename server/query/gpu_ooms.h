/*
 * Allocations that found no memory: who wanted how much, by which code, and who held what
 * at that moment.
 *
 * Shape    an event is one profile of gpu_memory_oom; its moment is the exact time of it.
 *          What processes held then are profiles of gpu_memory_peak with reason="oom" of
 *          that time, node and GPU. Newest first; equal times in an order that stays. A
 *          cursor is where the next page goes on, whatever has come meanwhile.
 *          The id is "hostname:pid:time_ms", with the service where there is no pid.
 * Units    bytes, milliseconds.
 * Errors   ERROR_INVALID for a cursor or an id that is none; ERROR_NOT_FOUND; the store's;
 *          arena_error().
 * Threads  none.
 * Source   own API specification; collector specification, 3.6
 */
#pragma once

#include "server/query/gpu_held.h"
#include "server/query/gpu_roster.h"

#define GPU_OOM_TOP_MAX 10 /* stacks of an event, and of each process: what a page shows */

enum gpu_oom_recovery {
	GPU_OOM_RECOVERY_UNKNOWN,
	GPU_OOM_RECOVERED, /* a call for as much succeeded within a second */
	GPU_OOM_NOT_RECOVERED,
};

struct gpu_oom_process {
	struct str id; /* as of the process list */
	struct label_set labels;
	int64_t live_bytes;
	struct gpu_held_top top;
};

struct gpu_oom {
	struct str id;
	int64_t time_ms;
	struct label_set labels; /* of the process */
	struct str gpu;
	struct str cuda_error;
	int64_t requested_bytes;
	bool knows_live; /* what was held was told */
	int64_t live_bytes;
	bool knows_device;
	int64_t device_used_bytes;
	int64_t device_total_bytes;
	enum gpu_oom_recovery recovery;
	struct gpu_stack stack;
	struct gpu_held_top top;

	struct gpu_oom_process *processes; /* of one that was asked for; most bytes first */
	size_t process_count;
};

struct gpu_oom_list {
	struct gpu_oom *events;
	size_t count;
	struct str next; /* cursor of the next page; {NULL, 0}: there is none */
};

/* At most `limit` events of the question's range, behind the cursor (may be empty). */
int gpu_ooms_list(const struct gpu_question *question, struct str cursor, size_t limit,
                  struct gpu_oom_list *out, struct error *err);

/* One event, with its processes. Range and selector of the question are not looked at. */
int gpu_ooms_find(struct gpu_question *question, struct str id, struct gpu_oom *out,
                  struct error *err);
