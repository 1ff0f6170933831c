/* What the stub driver and its callers agree on. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tests/collector/stub/stub_result.h"

int cuInit(unsigned int flags);
int cuDriverGetVersion(int *version);
int cuMemGetInfo_v2(size_t *available, size_t *total);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned int flags);
int cuMemFree_v2(uint64_t address);
int cuMemAllocAsync_ptsz(uint64_t *address, size_t bytes, void *stream);
int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream);
int cuMemFreeAsync(uint64_t address, void *stream);
int cuMemHostAlloc(void **address, size_t bytes, unsigned int flags);
int cuMemAllocHost_v2(void **address, size_t bytes);
int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool, void *stream);
int cuMemFreeHost(void *address);
int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status);

/* Called inside each memory function when it is not NULL. */
extern void (*stub_inside)(const char *function);
