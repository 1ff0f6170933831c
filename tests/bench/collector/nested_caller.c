/*
 * Called from Python: native frames between Python ones, and driver calls in a timed row.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define BLOCK_BYTES 4096

int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuCtxSetCurrent(void *context);
int cuDeviceGetCount(int *count);

extern int bench_device_count;

void nest(int depth, void (*callback)(void));
void call_driver(size_t count);
void see_devices(int count);
void switch_contexts(size_t count);

/* Nanoseconds of a call, of the last call_driver(). */
double alloc_ns;
double free_ns;

/* Likewise, of the last switch_contexts(). */
double switch_ns;

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The value after the call keeps it from being a jump. */
__attribute__((noinline)) static int deeper(int depth, void (*callback)(void))
{
	if (depth > 0)
		return deeper(depth - 1, callback) + 1;
	callback();
	return 0;
}

void nest(int depth, void (*callback)(void))
{
	static volatile int reached;

	reached = deeper(depth, callback);
	(void)reached;
}

void call_driver(size_t count)
{
	uint64_t *addresses = calloc(count, sizeof(*addresses));
	double began;

	if (!addresses)
		abort();
	began = now_ns();
	for (size_t i = 0; i < count; i++)
		cuMemAlloc_v2(&addresses[i], BLOCK_BYTES);
	alloc_ns = (now_ns() - began) / (double)count;
	began = now_ns();
	for (size_t i = 0; i < count; i++)
		cuMemFree_v2(addresses[i]);
	free_ns = (now_ns() - began) / (double)count;
	free(addresses);
}

void see_devices(int count)
{
	int seen;

	bench_device_count = count;
	if (cuDeviceGetCount(&seen) != 0)
		abort();
}

void switch_contexts(size_t count)
{
	static char contexts[2];
	const double began = now_ns();

	for (size_t i = 0; i < count; i++)
		if (cuCtxSetCurrent(&contexts[i % 2]) != 0)
			abort();
	switch_ns = (now_ns() - began) / (double)count;
}
