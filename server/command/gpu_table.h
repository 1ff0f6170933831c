/*
 * The answer of /api/gpu/processes as rows.
 *
 * Shape    what the answer does not know is GPU_UNKNOWN. Texts are views into the arena.
 * Units    bytes, Unix milliseconds.
 * Errors   ERROR_INVALID for what is no such answer; arena_error().
 * Threads  none.
 * Source   docs/api/gpu.md
 */
#pragma once

#include "base/arena.h"

#define GPU_UNKNOWN INT64_MIN

struct json;

/* A number, or its text when it is past 2^53; GPU_UNKNOWN where there is none. */
int64_t gpu_table_number(const struct json *map, const char *key);

struct gpu_table_row {
	struct str id;
	struct str state;
	struct str service;
	struct str command; /* proc_comm */
	struct str hostname;
	struct str pid;
	int64_t first_ms;
	int64_t last_ms;
	int64_t live_bytes;
	int64_t peak_bytes;
	int64_t alloc_bytes;
	int64_t growth_bytes;
	int64_t failures;
};

/* What a device says of itself. */
struct gpu_table_device {
	struct str hostname;
	int64_t used_bytes;
	int64_t total_bytes;
};

struct gpu_table {
	int64_t tick_ms; /* GPU_UNKNOWN: no tick at all */
	int64_t interval_ms;
	struct gpu_table_row *rows;
	size_t count;
	struct gpu_table_device *devices;
	size_t device_count;
};

/* All devices together, and what the rows hold on their nodes. */
struct gpu_table_sum {
	int64_t used_bytes; /* GPU_UNKNOWN: not all of them say it */
	int64_t total_bytes;
	int64_t live_bytes;
};

int gpu_table_parse(struct str json, struct arena *arena, struct gpu_table *out, struct error *err);

struct gpu_table_sum gpu_table_sum_devices(const struct gpu_table *table);

/*
 * Takes peaks and failures over from an answer of a longer range, where that has the
 * process.
 */
int gpu_table_take_history(struct gpu_table *table, const struct gpu_table *longer,
                           struct arena *arena, struct error *err);

/*
 * Bytes a second that a process allocated in its ticks behind `from_ms`, or GPU_UNKNOWN
 * where it has none.
 */
int64_t gpu_table_rate(const struct gpu_table *table, const struct gpu_table_row *row,
                       int64_t from_ms);
