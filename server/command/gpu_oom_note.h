/*
 * The last allocation that found no memory, of the answer of /api/gpu/oom.
 *
 * Shape    what the answer does not know is GPU_UNKNOWN. Texts are views into the arena.
 * Units    bytes, Unix milliseconds.
 * Errors   ERROR_INVALID for what is no such answer; arena_error().
 * Threads  none.
 * Source   docs/api/gpu.md
 */
#pragma once

#include "server/command/gpu_table.h"

struct gpu_oom_note {
	bool any;
	int64_t time_ms;
	struct str service;
	struct str pid; /* may be empty */
	int64_t requested_bytes;
	int64_t live_bytes;
	bool has_recovered;
	struct str stack; /* names joined by " > " */
};

int gpu_oom_note_parse(struct str json, struct arena *arena, struct gpu_oom_note *out,
                       struct error *err);
