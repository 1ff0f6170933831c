/*
 * Objects that are told by pointers: arrays, and memory of other processes. What they take of
 * the device is not accounted: their sizes are the caller's to know.
 */
#include <stdlib.h>

#include "tests/collector/stub/stub_memory.h"

/* The 64 bytes of a handle, which is passed by value. */
struct ipc_handle {
	char bytes[64];
};

int cuArrayCreate_v2(void **object, const void *description);
int cuArrayCreate(void **object, const void *description);
int cuArray3DCreate_v2(void **object, const void *description);
int cuArray3DCreate(void **object, const void *description);
int cuArrayDestroy(void *object);
int cuMipmappedArrayCreate(void **array, const void *description, unsigned int levels);
int cuMipmappedArrayDestroy(void *object);
int cuIpcOpenMemHandle_v2(uint64_t *address, struct ipc_handle handle, unsigned int flags);
int cuIpcOpenMemHandle(uint64_t *address, struct ipc_handle handle, unsigned int flags);
int cuIpcCloseMemHandle(uint64_t address);
int cuImportExternalMemory(void **object, const void *description);
int cuExternalMemoryGetMappedBuffer(uint64_t *address, void *memory, const void *description);
int cuExternalMemoryGetMappedMipmappedArray(void **array, void *memory, const void *description);
int cuDestroyExternalMemory(void *object);

static int make(void **object, const char *function)
{
	stub_begin(function);
	*object = malloc(1);
	return *object ? STUB_SUCCESS : STUB_OUT_OF_MEMORY;
}

static int destroy(void *object, const char *function)
{
	stub_begin(function);
	free(object);
	return object ? STUB_SUCCESS : STUB_INVALID_VALUE;
}

#define MAKES(name)                                             \
	EXPORT int name(void **object, const void *description) \
	{                                                       \
		(void)description;                              \
		return make(object, #name);                     \
	}
#define DESTROYS(name)                         \
	EXPORT int name(void *object)          \
	{                                      \
		return destroy(object, #name); \
	}

MAKES(cuArrayCreate_v2)
MAKES(cuArrayCreate)
MAKES(cuArray3DCreate_v2)
MAKES(cuArray3DCreate)
MAKES(cuImportExternalMemory)
DESTROYS(cuArrayDestroy)
DESTROYS(cuMipmappedArrayDestroy)
DESTROYS(cuDestroyExternalMemory)

EXPORT int cuMipmappedArrayCreate(void **array, const void *description, unsigned int levels)
{
	(void)description;
	(void)levels;
	return make(array, "cuMipmappedArrayCreate");
}

EXPORT int cuExternalMemoryGetMappedMipmappedArray(void **array, void *memory,
                                                   const void *description)
{
	(void)memory;
	(void)description;
	return make(array, "cuExternalMemoryGetMappedMipmappedArray");
}

/* Addresses of what another process has allocated. */
#define IMPORTED_BYTES 4096

EXPORT int cuIpcOpenMemHandle_v2(uint64_t *address, struct ipc_handle handle, unsigned int flags)
{
	(void)handle;
	(void)flags;
	stub_begin("cuIpcOpenMemHandle_v2");
	return stub_allocate(address, IMPORTED_BYTES);
}

EXPORT int cuIpcOpenMemHandle(uint64_t *address, struct ipc_handle handle, unsigned int flags)
{
	(void)handle;
	(void)flags;
	stub_begin("cuIpcOpenMemHandle");
	return stub_allocate(address, IMPORTED_BYTES);
}

EXPORT int cuIpcCloseMemHandle(uint64_t address)
{
	stub_begin("cuIpcCloseMemHandle");
	return stub_release(address);
}

EXPORT int cuExternalMemoryGetMappedBuffer(uint64_t *address, void *memory, const void *description)
{
	(void)memory;
	(void)description;
	stub_begin("cuExternalMemoryGetMappedBuffer");
	return stub_allocate(address, IMPORTED_BYTES);
}
