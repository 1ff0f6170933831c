/*
 * A CUDA driver without a GPU: memory functions hand out addresses of nothing, the rest says
 * that it is not supported (stub_unsupported.c).
 *
 * Shape    device addresses begin at 0x7e0000000000, pinned ones are from malloc(). A freed
 *          device address is the next to be given out for its size, so that who mixes up
 *          order is found out.
 *          Nesting is like a driver's: cuMemFreeAsync calls cuMemFree_v2, and
 *          cuMemAllocAsync jumps to its twin cuMemAllocAsync_ptsz.
 * Setting  by environment, read at cuInit or the first call:
 *          STUB_DEVICE_BYTES  what the device has (80 GiB)
 *          STUB_FAIL_EVERY    each such allocation fails (0: none)
 *          STUB_LATENCY_US    inside each call (0)
 *          STUB_INIT_US       inside cuInit besides (0; a real driver: 100,000 and more)
 *          stub_inside, an exported pointer: called inside each memory function
 */
#include "tests/collector/stub/stub_driver.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/collector/stub/stub_memory.h"

#define DEVICE_BASE UINT64_C(0x7e0000000000)
#define GRANULE     512 /* what real addresses are multiples of, at least */
#define BLOCKS_MAX  ((size_t)1 << 20)
#define NARROW_BASE UINT64_C(0x10000000) /* of addresses of 32 bits */
#define TAIL_CALL   __attribute__((noinline))

struct block {
	uint64_t address; /* 0: never used */
	uint64_t bytes;
	int is_live;
};

struct driver {
	pthread_mutex_t lock; /* guards everything below */
	pthread_once_t once;
	struct block blocks[BLOCKS_MAX]; /* by address; open addressing */
	size_t block_count;
	struct block *freed; /* the last one, to be given out again */
	uint64_t next;
	uint64_t next_narrow;
	uint64_t used;
	uint64_t capacity;
	uint64_t fail_every;
	uint64_t allocations;
	uint64_t latency_us;
	uint64_t init_us;
};

static struct driver driver = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

EXPORT void (*stub_inside)(const char *function);

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets any */

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void configure(void)
{
	driver.next = DEVICE_BASE;
	driver.next_narrow = NARROW_BASE;
	driver.capacity = setting("STUB_DEVICE_BYTES", UINT64_C(80) << 30);
	driver.fail_every = setting("STUB_FAIL_EVERY", 0);
	driver.latency_us = setting("STUB_LATENCY_US", 0);
	driver.init_us = setting("STUB_INIT_US", 0);
}

static void pause_for(uint64_t us)
{
	const struct timespec pause = { (time_t)(us / 1000000), (long)(us % 1000000 * 1000) };

	if (us > 0)
		nanosleep(&pause, NULL);
}

void stub_begin(const char *function)
{
	pthread_once(&driver.once, configure);
	pause_for(driver.latency_us);
	if (stub_inside)
		stub_inside(function);
}

static struct block *find_block(uint64_t address)
{
	size_t place =
		(size_t)(address / GRANULE * UINT64_C(0x9e3779b97f4a7c15) >> 44) % BLOCKS_MAX;

	while (driver.blocks[place].address != 0 && driver.blocks[place].address != address)
		place = (place + 1) % BLOCKS_MAX;
	return &driver.blocks[place];
}

/* A new block from *next on; NULL when there is no room. */
static struct block *new_block(uint64_t bytes, uint64_t *next)
{
	struct block *block;

	if (driver.block_count >= BLOCKS_MAX / 2)
		return NULL;
	block = find_block(*next);
	block->address = *next;
	block->bytes = bytes;
	driver.block_count++;
	*next += (bytes + GRANULE - 1) / GRANULE * GRANULE;
	return block;
}

/* The block freed last if it has that size, else a new one. */
static struct block *take_block(uint64_t bytes, uint64_t *next)
{
	struct block *block = driver.freed;

	if (next != &driver.next || !block || block->is_live || block->bytes != bytes)
		return new_block(bytes, next);
	driver.freed = NULL;
	return block;
}

static int allocate_from(uint64_t *address, uint64_t bytes, uint64_t *next)
{
	struct block *block = NULL;

	if (!address || bytes == 0)
		return STUB_INVALID_VALUE;
	pthread_mutex_lock(&driver.lock);
	driver.allocations++;
	if ((driver.fail_every == 0 || driver.allocations % driver.fail_every != 0) &&
	    bytes <= driver.capacity - driver.used)
		block = take_block(bytes, next);
	if (block) {
		block->is_live = 1;
		driver.used += bytes;
		*address = block->address;
	}
	pthread_mutex_unlock(&driver.lock);
	return block ? STUB_SUCCESS : STUB_OUT_OF_MEMORY;
}

int stub_allocate(uint64_t *address, uint64_t bytes)
{
	return allocate_from(address, bytes, &driver.next);
}

int stub_allocate_narrow(uint32_t *address, uint64_t bytes)
{
	uint64_t wide = 0;
	const int result = allocate_from(&wide, bytes, &driver.next_narrow);

	if (result == STUB_SUCCESS)
		*address = (uint32_t)wide;
	return result;
}

int stub_release(uint64_t address)
{
	struct block *block;
	int result = STUB_INVALID_VALUE;

	pthread_mutex_lock(&driver.lock);
	block = find_block(address);
	if (address != 0 && block->is_live) {
		block->is_live = 0;
		driver.used -= block->bytes;
		driver.freed = block;
		result = STUB_SUCCESS;
	}
	pthread_mutex_unlock(&driver.lock);
	return result;
}

EXPORT int cuInit(unsigned int flags)
{
	(void)flags;
	stub_begin("cuInit");
	pause_for(driver.init_us);
	return STUB_SUCCESS;
}

EXPORT int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return STUB_SUCCESS;
}

EXPORT int cuMemGetInfo_v2(size_t *available, size_t *total)
{
	pthread_once(&driver.once, configure);
	pthread_mutex_lock(&driver.lock);
	*available = driver.capacity - driver.used;
	*total = driver.capacity;
	pthread_mutex_unlock(&driver.lock);
	return STUB_SUCCESS;
}

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	stub_begin("cuMemAlloc_v2");
	return stub_allocate(address, bytes);
}

EXPORT int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned int flags)
{
	(void)flags;
	stub_begin("cuMemAllocManaged");
	return stub_allocate(address, bytes);
}

EXPORT int cuMemFree_v2(uint64_t address)
{
	stub_begin("cuMemFree_v2");
	return stub_release(address);
}

EXPORT __attribute__((noinline)) int cuMemAllocAsync_ptsz(uint64_t *address, size_t bytes,
                                                          void *stream)
{
	(void)stream;
	stub_begin("cuMemAllocAsync_ptsz");
	return stub_allocate(address, bytes);
}

/* By a jump: the return address of the caller is the twin's. */
EXPORT TAIL_CALL int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream)
{
	return cuMemAllocAsync_ptsz(address, bytes, stream);
}

EXPORT int cuMemFreeAsync(uint64_t address, void *stream)
{
	int result;

	(void)stream;
	stub_begin("cuMemFreeAsync");
	result = cuMemFree_v2(address);
	return result;
}

EXPORT int cuMemHostAlloc(void **address, size_t bytes, unsigned int flags)
{
	(void)flags;
	stub_begin("cuMemHostAlloc");
	*address = bytes ? malloc(bytes) : NULL;
	return *address ? STUB_SUCCESS : STUB_OUT_OF_MEMORY;
}

EXPORT int cuMemFreeHost(void *address)
{
	stub_begin("cuMemFreeHost");
	free(address);
	return STUB_SUCCESS;
}
