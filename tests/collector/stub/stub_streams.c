/* Streams of the current context, and pools of a device. */
#include <stdlib.h>

#include "tests/collector/stub/stub_memory.h"

#define DEVICES_MAX     64
#define LOCATION_DEVICE 1

struct stub_location {
	int type;
	int id;
};

/* CUmemPoolProps: what kind of memory, handles to share it by, where it is. */
struct stub_pool_properties {
	int kind;
	int handles;
	struct stub_location location;
};

int cuStreamCreate(void **stream, unsigned int flags);
int cuStreamCreateWithPriority(void **stream, unsigned int flags, int priority);
int cuStreamDestroy(void *stream);
int cuStreamDestroy_v2(void *stream);
int cuMemPoolCreate(void **pool, const struct stub_pool_properties *properties);
int cuMemPoolDestroy(void *pool);
int cuDeviceGetDefaultMemPool(void **pool, int device);
int cuDeviceGetMemPool(void **pool, int device);
int cuMemGetDefaultMemPool(void **pool, const struct stub_location *location, int kind);
int cuMemGetMemPool(void **pool, const struct stub_location *location, int kind);

EXPORT int cuStreamCreateWithPriority(void **stream, unsigned int flags, int priority)
{
	(void)flags;
	(void)priority;
	if (stub_current_device() < 0)
		return STUB_INVALID_CONTEXT;
	*stream = malloc(sizeof(int));
	return *stream ? STUB_SUCCESS : STUB_OUT_OF_MEMORY;
}

EXPORT int cuStreamCreate(void **stream, unsigned int flags)
{
	int result = cuStreamCreateWithPriority(stream, flags, 0);

	return result;
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
	free(stream);
	return stream ? STUB_SUCCESS : STUB_INVALID_VALUE;
}

EXPORT int cuStreamDestroy(void *stream)
{
	return cuStreamDestroy_v2(stream);
}

EXPORT int cuMemPoolCreate(void **pool, const struct stub_pool_properties *properties)
{
	if (properties->location.type != LOCATION_DEVICE)
		return STUB_INVALID_VALUE;
	*pool = malloc(sizeof(int));
	return *pool ? STUB_SUCCESS : STUB_OUT_OF_MEMORY;
}

EXPORT int cuMemPoolDestroy(void *pool)
{
	free(pool);
	return pool ? STUB_SUCCESS : STUB_INVALID_VALUE;
}

EXPORT int cuDeviceGetDefaultMemPool(void **pool, int device)
{
	static int pools[DEVICES_MAX];

	if (device < 0 || device >= DEVICES_MAX)
		return STUB_INVALID_VALUE;
	*pool = &pools[device];
	return STUB_SUCCESS;
}

EXPORT int cuDeviceGetMemPool(void **pool, int device)
{
	return cuDeviceGetDefaultMemPool(pool, device);
}

EXPORT int cuMemGetDefaultMemPool(void **pool, const struct stub_location *location, int kind)
{
	(void)kind;
	return location->type == LOCATION_DEVICE ? cuDeviceGetDefaultMemPool(pool, location->id)
	                                         : STUB_INVALID_VALUE;
}

EXPORT int cuMemGetMemPool(void **pool, const struct stub_location *location, int kind)
{
	return cuMemGetDefaultMemPool(pool, location, kind);
}
