/*
 * The driver as a workload calls it, and how it says what it did: a JSON object a line.
 *
 * Threads  none, but a struct each.
 */
#pragma once

#include <stdint.h>

#include "tests/collector/stub/stub_driver.h"

/* The driver's functions, as dlsym() finds them. */
struct workload_driver {
	__typeof__(&cuInit) init;
	__typeof__(&cuMemAlloc_v2) alloc;
	__typeof__(&cuMemFree_v2) free;
	__typeof__(&cuMemAllocAsync) alloc_async;
	__typeof__(&cuMemFreeAsync) free_async;
	__typeof__(&cuMemAllocManaged) alloc_managed;
	__typeof__(&cuMemHostAlloc) host_alloc;
	__typeof__(&cuMemAllocHost_v2) alloc_host;
	__typeof__(&cuMemAllocFromPoolAsync) alloc_from_pool;
	__typeof__(&cuMemFreeHost) free_host;
	void (**inside)(const char *function);
};

/* What was called, and how often that failed. */
struct call_sums {
	uint64_t alloc_calls;
	uint64_t alloc_bytes;
	uint64_t alloc_failures;
	uint64_t free_calls;
	uint64_t free_failures;
};

/* Ends the process. */
void stop(const char *why) __attribute__((noreturn));

/* Loads the driver at `path`, or stops. */
void workload_driver_load(struct workload_driver *driver, const char *path);

void count_alloc(struct call_sums *to, uint64_t bytes, int result);
void count_free(struct call_sums *to, int result);

/* {"call": kind, "address", "bytes", "result"} */
void say_call(const char *kind, uint64_t address, uint64_t bytes, int result);

/* {"pid", "alloc_calls", ...}: the last line of a process. */
void say_sums(const struct call_sums *sums);
