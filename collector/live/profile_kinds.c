#include "collector/live/profile_kinds.h"

#include <assert.h>

static const struct stack_profile_kind kinds[PROFILE_KIND_COUNT] = {
	[PROFILE_KIND_MEMORY] = {
		.metric = "memory",
		.types = { { "alloc_space", "bytes" },
	                   { "alloc_objects", "count" },
	                   { "inuse_space", "bytes" },
	                   { "inuse_objects", "count" } },
		.type_count = 4,
		.period = { "space", "bytes" },
	},
	[PROFILE_KIND_NOTHING] = {
		.metric = "memory",
		.types = { { "inuse_space", "bytes" }, { "inuse_objects", "count" } },
		.type_count = 2,
		.period = { "space", "bytes" },
	},
	/* no period type: published dashboards ask for process_cpu:malloc:bytes:: */
	[PROFILE_KIND_MALLOC] = {
		.metric = "process_cpu",
		.types = { { "malloc", "bytes" } },
		.type_count = 1,
	},
	[PROFILE_KIND_FAILED] = {
		.metric = "gpu_memory_failed",
		.types = { { "requested_space", "bytes" }, { "failures", "count" } },
		.type_count = 2,
		.period = { "space", "bytes" },
	},
	[PROFILE_KIND_PEAK] = {
		.metric = "gpu_memory_peak",
		.types = { { "peak_space", "bytes" } },
		.type_count = 1,
		.period = { "space", "bytes" },
	},
	[PROFILE_KIND_OOM] = {
		.metric = "gpu_memory_oom",
		.types = { { "requested_space", "bytes" } },
		.type_count = 1,
		.period = { "space", "bytes" },
	},
	[PROFILE_KIND_OOM_DEVICE] = {
		.metric = "gpu_memory_oom",
		.types = { { "requested_space", "bytes" },
	                   { "device_used_space", "bytes" },
	                   { "device_total_space", "bytes" } },
		.type_count = 3,
		.period = { "space", "bytes" },
	},
	[PROFILE_KIND_SUSPENDED] = {
		.metric = "gpu_memory_suspended",
		.types = { { "live_space", "bytes" } },
		.type_count = 1,
		.period = { "space", "bytes" },
	},
	[PROFILE_KIND_DEVICE] = {
		.metric = "gpu_memory_device",
		.types = { { "used_space", "bytes" }, { "total_space", "bytes" } },
		.type_count = 2,
		.period = { "space", "bytes" },
	},
};

const struct stack_profile_kind *profile_kind(enum profile_kind kind)
{
	assert(kind < PROFILE_KIND_COUNT);
	return &kinds[kind];
}
