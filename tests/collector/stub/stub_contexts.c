/*
 * Contexts and devices: each thread has a stack of contexts, as cuda.h says. What was allocated
 * in a context is not taken back at its end: who watches must know by himself. STUB_DEVICES in
 * the environment: how many there are (1).
 */
#include <stdlib.h>
#include <string.h>

#include "tests/collector/stub/stub_memory.h"

#define CONTEXTS_MAX 64 /* of a thread */
#define DEVICES_MAX  64
#define UUID_BYTES   16

struct stub_context {
	int device;
};

int cuDeviceGetCount(int *count);
int cuDeviceGetUuid(unsigned char *uuid, int device);
int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
int cuCtxCreate(void **context, unsigned int flags, int device);
int cuCtxCreate_v2(void **context, unsigned int flags, int device);
int cuCtxCreate_v3(void **context, void *affinity, int count, unsigned int flags, int device);
int cuCtxCreate_v4(void **context, void *parameters, unsigned int flags, int device);
int cuCtxDestroy(void *context);
int cuCtxDestroy_v2(void *context);
int cuCtxSetCurrent(void *context);
int cuCtxGetCurrent(void **context);
int cuCtxPushCurrent(void *context);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent(void **context);
int cuCtxPopCurrent_v2(void **context);
int cuCtxGetDevice(int *device);
int cuCtxGetDevice_v2(int *device, void *context);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease(int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxReset(int device);
int cuDevicePrimaryCtxReset_v2(int device);
int cuGetExportTable(const void **table, const void *name);
void stub_set_unseen(int device);

static struct stub_context primary[DEVICES_MAX];

static __thread struct stub_context *current[CONTEXTS_MAX]; /* the innermost is the last */
static __thread int depth;

static int device_count(void)
{
	const char *text =
		getenv("STUB_DEVICES"); /* NOLINT(concurrency-mt-unsafe): nobody sets any */
	const int count = text ? (int)strtol(text, NULL, 10) : 1;

	return count < DEVICES_MAX ? count : DEVICES_MAX;
}

static int is_device(int device)
{
	return device >= 0 && device < device_count();
}

EXPORT int cuDeviceGetCount(int *count)
{
	*count = device_count();
	return STUB_SUCCESS;
}

/* Bytes of 10 hexadecimal and the device's number. */
EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
	if (!is_device(device))
		return STUB_INVALID_VALUE;
	memset(uuid, 0x10 + device, UUID_BYTES);
	return STUB_SUCCESS;
}

EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device)
{
	return cuDeviceGetUuid_v2(uuid, device);
}

/* ---- the stack of a thread ---- */

static int push(struct stub_context *context)
{
	if (!context || depth == CONTEXTS_MAX)
		return STUB_INVALID_VALUE;
	current[depth++] = context;
	return STUB_SUCCESS;
}

EXPORT int cuCtxPushCurrent_v2(void *context)
{
	return push(context);
}

EXPORT int cuCtxPushCurrent(void *context)
{
	return push(context);
}

EXPORT int cuCtxPopCurrent_v2(void **context)
{
	if (depth == 0)
		return STUB_INVALID_CONTEXT;
	depth--;
	if (context)
		*context = current[depth];
	return STUB_SUCCESS;
}

EXPORT int cuCtxPopCurrent(void **context)
{
	return cuCtxPopCurrent_v2(context);
}

EXPORT int cuCtxSetCurrent(void *context)
{
	if (depth > 0)
		depth--;
	return context ? push(context) : STUB_SUCCESS;
}

EXPORT int cuCtxGetCurrent(void **context)
{
	*context = depth > 0 ? current[depth - 1] : NULL;
	return STUB_SUCCESS;
}

EXPORT int cuCtxGetDevice_v2(int *device, void *context)
{
	if (!context)
		return STUB_INVALID_CONTEXT;
	*device = ((const struct stub_context *)context)->device;
	return STUB_SUCCESS;
}

EXPORT int cuCtxGetDevice(int *device)
{
	return cuCtxGetDevice_v2(device, depth > 0 ? current[depth - 1] : NULL);
}

int stub_current_device(void)
{
	return depth > 0 ? current[depth - 1]->device : -1;
}

/* ---- contexts ---- */

static int make_context(void **context, int device)
{
	struct stub_context *made = is_device(device) ? malloc(sizeof(*made)) : NULL;

	if (!made)
		return is_device(device) ? STUB_OUT_OF_MEMORY : STUB_INVALID_VALUE;
	made->device = device;
	*context = made;
	return push(made);
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

/* Where it is current in another thread, it stays so. */
EXPORT int cuCtxDestroy_v2(void *context)
{
	if (!context)
		return STUB_INVALID_VALUE;
	if (depth > 0 && current[depth - 1] == context)
		depth--;
	free(context);
	return STUB_SUCCESS;
}

EXPORT int cuCtxDestroy(void *context)
{
	return cuCtxDestroy_v2(context);
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
	if (!is_device(device))
		return STUB_INVALID_VALUE;
	primary[device].device = device;
	*context = &primary[device];
	return STUB_SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
	return is_device(device) ? STUB_SUCCESS : STUB_INVALID_VALUE;
}

EXPORT int cuDevicePrimaryCtxRelease(int device)
{
	return cuDevicePrimaryCtxRelease_v2(device);
}

EXPORT int cuDevicePrimaryCtxReset_v2(int device)
{
	return is_device(device) ? STUB_SUCCESS : STUB_INVALID_VALUE;
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

/* As a runtime may do by such a function: the primary context becomes current unseen. */
EXPORT void stub_set_unseen(int device)
{
	primary[device].device = device;
	if (depth > 0)
		depth--;
	(void)push(&primary[device]);
}
