/*
 * Physical memory, as cuda.h says: it lives as long as it has a handle's reference or a
 * mapping; an unmapping covers whole mappings, side by side.
 */
#include <pthread.h>
#include <stddef.h>

#include "tests/collector/stub/stub_memory.h"

#define HANDLES_MAX    256
#define MAPPINGS_MAX   1024
#define RESERVED_BASE  UINT64_C(0x300000000)
#define HANDLE_BASE    UINT64_C(0x5000)
#define OUT_OF_HANDLES STUB_OUT_OF_MEMORY

struct physical {
	uint64_t address; /* of the device's memory; 0: none of its own */
	uint32_t references;
	uint32_t mappings;
};

struct mapping {
	uint64_t address;
	uint64_t bytes; /* 0: unused */
	uint64_t handle;
};

static struct {
	pthread_mutex_t lock;
	struct physical physical[HANDLES_MAX];
	struct mapping mappings[MAPPINGS_MAX];
	uint64_t next_address;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .next_address = RESERVED_BASE };

int cuMemAddressReserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t wish,
                        unsigned long long flags);
int cuMemAddressFree(uint64_t address, size_t bytes);
int cuMemCreate(uint64_t *handle, size_t bytes, const void *properties, unsigned long long flags);
int cuMemRelease(uint64_t handle);
int cuMemRetainAllocationHandle(uint64_t *handle, void *address);
int cuMemImportFromShareableHandle(uint64_t *handle, void *shareable, int type);
int cuMulticastCreate(uint64_t *handle, const void *properties);
int cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle,
             unsigned long long flags);
int cuMemUnmap(uint64_t address, size_t bytes);
int cuMemSetAccess(uint64_t address, size_t bytes, const void *access, size_t count);

EXPORT int cuMemAddressReserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t wish,
                               unsigned long long flags)
{
	(void)alignment;
	(void)wish;
	(void)flags;
	pthread_mutex_lock(&state.lock);
	*address = state.next_address;
	state.next_address += bytes;
	pthread_mutex_unlock(&state.lock);
	return STUB_SUCCESS;
}

EXPORT int cuMemAddressFree(uint64_t address, size_t bytes)
{
	(void)address;
	(void)bytes;
	return STUB_SUCCESS;
}

EXPORT int cuMemSetAccess(uint64_t address, size_t bytes, const void *access, size_t count)
{
	(void)address;
	(void)bytes;
	(void)access;
	(void)count;
	return STUB_SUCCESS;
}

/* A handle that nobody has; the lowest, so that they are used again at once. */
static int take_handle(uint64_t *handle, uint64_t address)
{
	for (uint64_t i = 0; i < HANDLES_MAX; i++) {
		struct physical *physical = &state.physical[i];

		if (physical->references > 0 || physical->mappings > 0)
			continue;
		*physical = (struct physical){ .address = address, .references = 1 };
		*handle = HANDLE_BASE + i;
		return STUB_SUCCESS;
	}
	return OUT_OF_HANDLES;
}

static struct physical *find(uint64_t handle)
{
	struct physical *physical = NULL;

	if (handle >= HANDLE_BASE && handle < HANDLE_BASE + HANDLES_MAX)
		physical = &state.physical[handle - HANDLE_BASE];
	return physical && physical->references > 0 ? physical : NULL;
}

static void free_if_unused(const struct physical *physical)
{
	if (physical->references == 0 && physical->mappings == 0 && physical->address)
		(void)stub_release(physical->address);
}

EXPORT int cuMemCreate(uint64_t *handle, size_t bytes, const void *properties,
                       unsigned long long flags)
{
	uint64_t address = 0;
	int result;

	(void)properties;
	(void)flags;
	stub_begin("cuMemCreate");
	result = stub_allocate(&address, bytes);
	if (result != STUB_SUCCESS)
		return result;
	pthread_mutex_lock(&state.lock);
	result = take_handle(handle, address);
	pthread_mutex_unlock(&state.lock);
	return result;
}

EXPORT int cuMemRelease(uint64_t handle)
{
	struct physical *physical;
	int result = STUB_INVALID_VALUE;

	stub_begin("cuMemRelease");
	pthread_mutex_lock(&state.lock);
	physical = find(handle);
	if (physical) {
		physical->references--;
		free_if_unused(physical);
		result = STUB_SUCCESS;
	}
	pthread_mutex_unlock(&state.lock);
	return result;
}

static int import(uint64_t *handle)
{
	int result;

	pthread_mutex_lock(&state.lock);
	result = take_handle(handle, 0);
	pthread_mutex_unlock(&state.lock);
	return result;
}

EXPORT int cuMemImportFromShareableHandle(uint64_t *handle, void *shareable, int type)
{
	(void)shareable;
	(void)type;
	stub_begin("cuMemImportFromShareableHandle");
	return import(handle);
}

EXPORT int cuMulticastCreate(uint64_t *handle, const void *properties)
{
	(void)properties;
	stub_begin("cuMulticastCreate");
	return import(handle);
}

EXPORT int cuMemRetainAllocationHandle(uint64_t *handle, void *address)
{
	const uint64_t at = (uint64_t)(uintptr_t)address;
	int result = STUB_INVALID_VALUE;

	stub_begin("cuMemRetainAllocationHandle");
	pthread_mutex_lock(&state.lock);
	for (size_t i = 0; i < MAPPINGS_MAX; i++) {
		const struct mapping *mapping = &state.mappings[i];

		if (at < mapping->address || at - mapping->address >= mapping->bytes)
			continue;
		*handle = mapping->handle;
		state.physical[mapping->handle - HANDLE_BASE].references++;
		result = STUB_SUCCESS;
	}
	pthread_mutex_unlock(&state.lock);
	return result;
}

static struct mapping *unused_mapping(void)
{
	for (size_t i = 0; i < MAPPINGS_MAX; i++)
		if (state.mappings[i].bytes == 0)
			return &state.mappings[i];
	return NULL;
}

EXPORT int cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle,
                    unsigned long long flags)
{
	struct mapping *mapping;
	struct physical *physical;
	int result = STUB_INVALID_VALUE;

	(void)offset;
	(void)flags;
	stub_begin("cuMemMap");
	pthread_mutex_lock(&state.lock);
	mapping = unused_mapping();
	physical = find(handle);
	if (mapping && physical && bytes > 0) {
		*mapping = (struct mapping){ address, bytes, handle };
		physical->mappings++;
		result = STUB_SUCCESS;
	}
	pthread_mutex_unlock(&state.lock);
	return result;
}

/* How many of the range's bytes are mapped. */
static uint64_t mapped_bytes(uint64_t address, uint64_t bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < MAPPINGS_MAX; i++)
		if (state.mappings[i].address >= address &&
		    state.mappings[i].address - address < bytes)
			sum += state.mappings[i].bytes;
	return sum;
}

EXPORT int cuMemUnmap(uint64_t address, size_t bytes)
{
	int result = STUB_INVALID_VALUE;

	stub_begin("cuMemUnmap");
	pthread_mutex_lock(&state.lock);
	if (bytes > 0 && mapped_bytes(address, bytes) == bytes) {
		result = STUB_SUCCESS;
		for (size_t i = 0; i < MAPPINGS_MAX; i++) {
			struct mapping *mapping = &state.mappings[i];
			struct physical *physical;

			if (mapping->address < address || mapping->address - address >= bytes ||
			    mapping->bytes == 0)
				continue;
			physical = &state.physical[mapping->handle - HANDLE_BASE];
			physical->mappings--;
			free_if_unused(physical);
			*mapping = (struct mapping){ 0 };
		}
	}
	pthread_mutex_unlock(&state.lock);
	return result;
}
