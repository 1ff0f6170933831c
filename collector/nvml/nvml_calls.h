/*
 * The functions of NVML that we call, and what they write, as its reference has them.
 *
 * Shape    a table of pointers; NULL where the library has no such function. Lists of
 *          processes have names of three versions, and the newest that is there is taken
 *          (nvml_holders.h).
 * Errors   an enum nvml_result. Nothing is called again once init() has failed.
 * Threads  NVML's functions are for any; only device_watch's thread calls them.
 * Source   NVML API reference
 */
#pragma once

#include <stdint.h>

/* Those that somebody acts on, or that a person should read by name. */
enum nvml_result {
	NVML_OK = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_GPU_IS_LOST = 15,
	NVML_VERSION_MISMATCH = 18,
};

struct nvml_device; /* NVML's own */

struct nvml_memory {
	unsigned long long total;
	unsigned long long free;
	unsigned long long used; /* with what the driver keeps for itself */
};

/* `used` is what nvidia-smi shows: what the driver keeps for itself is `reserved`. */
struct nvml_memory_v2 {
	unsigned int version;
	unsigned long long total;
	unsigned long long reserved;
	unsigned long long free;
	unsigned long long used;
};

#define NVML_MEMORY_V2 ((unsigned int)sizeof(struct nvml_memory_v2) | 2U << 24)
#define NVML_PARTS_ON  1 /* of a device's mode */

#define NVML_NO_VALUE UINT64_MAX /* bytes that are not told */

_Static_assert(sizeof(struct nvml_memory) == 24, "as NVML has it");
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "as NVML has it");

/* Fills up to *count processes and sets it; INSUFFICIENT_SIZE: *count is how many there are. */
typedef int (*nvml_list)(struct nvml_device *device, unsigned int *count, void *infos);

enum nvml_list_kind {
	NVML_LIST_COMPUTE,
	NVML_LIST_GRAPHICS,
	NVML_LIST_SHARED, /* clients of a multi-process server */
	NVML_LIST_COUNT,
};

struct nvml_calls {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define NVML_CALL(field, symbol, need, parameters) int(*field) parameters;
#include "collector/nvml/nvml_calls.def"
#undef NVML_CALL
	nvml_list lists[NVML_LIST_COUNT];
};
