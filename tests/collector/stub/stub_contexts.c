/*
 * Contexts and devices. What was allocated in a context is not taken back at its end: who
 * watches must know by himself. STUB_DEVICES in the environment: how many there are (1).
 */
#include <stdlib.h>

#include "tests/collector/stub/stub_memory.h"

int cuDeviceGetCount(int *count);
int cuCtxCreate(void **context, unsigned int flags, int device);
int cuCtxCreate_v2(void **context, unsigned int flags, int device);
int cuCtxCreate_v3(void **context, void *affinity, int count, unsigned int flags, int device);
int cuCtxCreate_v4(void **context, void *parameters, unsigned int flags, int device);
int cuCtxDestroy(void *context);
int cuCtxDestroy_v2(void *context);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease(int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxReset(int device);
int cuDevicePrimaryCtxReset_v2(int device);
int cuGetExportTable(const void **table, const void *name);

static int device_count(void)
{
	const char *text =
		getenv("STUB_DEVICES"); /* NOLINT(concurrency-mt-unsafe): nobody sets any */

	return text ? (int)strtol(text, NULL, 10) : 1;
}

EXPORT int cuDeviceGetCount(int *count)
{
	*count = device_count();
	return STUB_SUCCESS;
}

static int make_context(void **context, int device)
{
	if (device < 0 || device >= device_count())
		return STUB_INVALID_VALUE;
	*context = malloc(1);
	return *context ? STUB_SUCCESS : STUB_OUT_OF_MEMORY;
}

EXPORT int cuCtxCreate_v2(void **context, unsigned int flags, int device)
{
	(void)flags;
	return make_context(context, device);
}

EXPORT int cuCtxCreate(void **context, unsigned int flags, int device)
{
	return cuCtxCreate_v2(context, flags, device);
}

EXPORT int cuCtxCreate_v3(void **context, void *affinity, int count, unsigned int flags, int device)
{
	(void)affinity;
	(void)count;
	(void)flags;
	return make_context(context, device);
}

EXPORT int cuCtxCreate_v4(void **context, void *parameters, unsigned int flags, int device)
{
	(void)parameters;
	(void)flags;
	return make_context(context, device);
}

EXPORT int cuCtxDestroy_v2(void *context)
{
	free(context);
	return context ? STUB_SUCCESS : STUB_INVALID_VALUE;
}

EXPORT int cuCtxDestroy(void *context)
{
	return cuCtxDestroy_v2(context);
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
	static char primary[64];

	if (device < 0 || device >= device_count())
		return STUB_INVALID_VALUE;
	*context = &primary[device % (int)sizeof(primary)];
	return STUB_SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
	return device >= 0 && device < device_count() ? STUB_SUCCESS : STUB_INVALID_VALUE;
}

EXPORT int cuDevicePrimaryCtxRelease(int device)
{
	return cuDevicePrimaryCtxRelease_v2(device);
}

EXPORT int cuDevicePrimaryCtxReset_v2(int device)
{
	return device >= 0 && device < device_count() ? STUB_SUCCESS : STUB_INVALID_VALUE;
}

EXPORT int cuDevicePrimaryCtxReset(int device)
{
	return cuDevicePrimaryCtxReset_v2(device);
}

/* Runtimes find private functions by it, and make contexts that nobody sees. */
EXPORT int cuGetExportTable(const void **table, const void *name)
{
	static const void *const nothing[4];

	(void)name;
	*table = nothing;
	return STUB_SUCCESS;
}
