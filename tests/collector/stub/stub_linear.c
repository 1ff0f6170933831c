/*
 * Linear memory by the rarer functions. Pitched memory nests as a driver's may: the function
 * allocates by another exported one.
 */
#include <stddef.h>

#include "tests/collector/stub/stub_driver.h"
#include "tests/collector/stub/stub_memory.h"

#define PITCH_GRANULE 512

int cuMemAlloc(uint32_t *address, unsigned int bytes);
int cuMemFree(uint32_t address);
int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height,
                       unsigned int element);
int cuMemAllocPitch(uint32_t *address, unsigned int *pitch, unsigned int width, unsigned int height,
                    unsigned int element);
int cuMemAllocHost(void **address, unsigned int bytes);
int cuMemHostRegister_v2(void *address, size_t bytes, unsigned int flags);
int cuMemHostRegister(void *address, size_t bytes, unsigned int flags);
int cuMemHostUnregister(void *address);
int cuMemAllocFromPoolAsync_ptsz(uint64_t *address, size_t bytes, void *pool, void *stream);
int cuMemFreeAsync_ptsz(uint64_t address, void *stream);
int cuMemPoolImportPointer(uint64_t *address, void *pool, void *data);

EXPORT int cuMemAlloc(uint32_t *address, unsigned int bytes)
{
	stub_begin("cuMemAlloc");
	return stub_allocate_narrow(address, bytes);
}

EXPORT int cuMemFree(uint32_t address)
{
	stub_begin("cuMemFree");
	return stub_release(address);
}

static size_t pitch_of(size_t width)
{
	return (width + PITCH_GRANULE - 1) / PITCH_GRANULE * PITCH_GRANULE;
}

EXPORT int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height,
                              unsigned int element)
{
	const size_t row = pitch_of(width);
	int result;

	(void)element;
	stub_begin("cuMemAllocPitch_v2");
	result = cuMemAlloc_v2(address, row * height);
	if (result == STUB_SUCCESS)
		*pitch = row;
	return result;
}

EXPORT int cuMemAllocPitch(uint32_t *address, unsigned int *pitch, unsigned int width,
                           unsigned int height, unsigned int element)
{
	const size_t row = pitch_of(width);
	int result;

	(void)element;
	stub_begin("cuMemAllocPitch");
	result = stub_allocate_narrow(address, row * height);
	if (result == STUB_SUCCESS)
		*pitch = (unsigned int)row;
	return result;
}

EXPORT int cuMemAllocHost(void **address, unsigned int bytes)
{
	stub_begin("cuMemAllocHost");
	return cuMemHostAlloc(address, bytes, 0);
}

EXPORT int cuMemHostRegister_v2(void *address, size_t bytes, unsigned int flags)
{
	(void)flags;
	stub_begin("cuMemHostRegister_v2");
	return address && bytes ? STUB_SUCCESS : STUB_INVALID_VALUE;
}

EXPORT int cuMemHostRegister(void *address, size_t bytes, unsigned int flags)
{
	(void)flags;
	stub_begin("cuMemHostRegister");
	return address && bytes ? STUB_SUCCESS : STUB_INVALID_VALUE;
}

EXPORT int cuMemHostUnregister(void *address)
{
	stub_begin("cuMemHostUnregister");
	return address ? STUB_SUCCESS : STUB_INVALID_VALUE;
}

EXPORT int cuMemAllocFromPoolAsync_ptsz(uint64_t *address, size_t bytes, void *pool, void *stream)
{
	(void)pool;
	(void)stream;
	stub_begin("cuMemAllocFromPoolAsync_ptsz");
	return stub_allocate(address, bytes);
}

EXPORT int cuMemFreeAsync_ptsz(uint64_t address, void *stream)
{
	(void)stream;
	stub_begin("cuMemFreeAsync_ptsz");
	return stub_release(address);
}

/* A block of somebody else; it is given back like one's own. */
EXPORT int cuMemPoolImportPointer(uint64_t *address, void *pool, void *data)
{
	(void)pool;
	(void)data;
	stub_begin("cuMemPoolImportPointer");
	return stub_allocate(address, PITCH_GRANULE);
}
