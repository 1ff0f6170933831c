/*
 * What processes held at one time each, and the highest of it.
 *
 * Shape    series of one process, time and measure are added up: a process has a series
 *          for each class of memory and each GPU.
 * Units    bytes, nanoseconds.
 * Errors   arena_error().
 * Threads  none.
 */
#pragma once

#include "server/query/gpu_roster.h"

struct gpu_moment {
	uint32_t process;
	int64_t time_ns;
	int64_t bytes;
};

/* Zeroed but for the arena, it is empty. */
struct gpu_moments {
	struct arena *arena;
	struct intern ids; /* (process, time, measure) */
	struct gpu_moment *items;
	size_t capacity;
};

int gpu_moments_add(struct gpu_moments *moments, const struct gpu_role *role,
                    const struct store_point *point, struct error *err);

/*
 * The highest moment of each process in an array of `process_count`: the earliest of
 * equal ones; bytes 0 where there is none. NULL: the arena is full.
 */
struct gpu_moment *gpu_moments_peaks(const struct gpu_moments *moments, size_t process_count);

/* a + b; what does not fit stays at its end. */
int64_t gpu_bytes_add(int64_t a, int64_t b);
int64_t gpu_bytes_subtract(int64_t a, int64_t b);
