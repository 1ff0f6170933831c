#include "server/query/gpu_measure.h"

#include <assert.h>

#include "base/cleanup.h"

static const struct {
	struct str type;
	bool is_shared; /* with senders that know nothing of GPUs */
} measures[GPU_MEASURE_COUNT] = {
	[GPU_LIVE_BYTES] = { { "memory:inuse_space:bytes:space:bytes", 36 }, true },
	[GPU_LIVE_BLOCKS] = { { "memory:inuse_objects:count:space:bytes", 38 }, true },
	[GPU_ALLOC_BYTES] = { { "memory:alloc_space:bytes:space:bytes", 36 }, true },
	[GPU_ALLOC_CALLS] = { { "memory:alloc_objects:count:space:bytes", 38 }, true },
	[GPU_FAILURES] = { { "gpu_memory_failed:failures:count:space:bytes", 44 }, false },
	[GPU_PEAK_BYTES] = { { "gpu_memory_peak:peak_space:bytes:space:bytes", 44 }, false },
	[GPU_OOM_BYTES] = { { "gpu_memory_oom:requested_space:bytes:space:bytes", 48 }, false },
	[GPU_DEVICE_BYTES] = { { "gpu_memory_device:total_space:bytes:space:bytes", 47 }, false },
	[GPU_SUSPENDED] = { { "gpu_memory_suspended:live_space:bytes:space:bytes", 49 }, false },
	[GPU_DEVICE_USED] = { { "gpu_memory_device:used_space:bytes:space:bytes", 46 }, false },
};

bool gpu_measure_is_of_device(enum gpu_measure measure)
{
	return measure == GPU_DEVICE_BYTES || measure == GPU_DEVICE_USED;
}

struct str gpu_measure_type(enum gpu_measure measure)
{
	assert(measure < GPU_MEASURE_COUNT);
	return measures[measure].type;
}

bool gpu_is_heartbeat(const struct label_set *labels)
{
	const struct str *service = label_set_find(labels, STR("service_name"));

	/* a suffix stands behind: -collector.service-suffix */
	return service && str_starts_with(*service, STR("vramscope-collector")) &&
	       !label_set_find(labels, STR("cuda_class")) && !label_set_find(labels, STR("pid")) &&
	       !label_set_find(labels, STR("proc_comm"));
}

/* Of types that others have too; a snapshot for a reason (no memory left) is no tick. */
static bool is_of_cuda(const struct label_set *labels)
{
	return gpu_is_heartbeat(labels) || (label_set_find(labels, STR("cuda_class")) &&
	                                    !label_set_find(labels, STR("reason")));
}

enum gpu_measure gpu_measure_of(const struct label_set *labels)
{
	const struct str *type = label_set_find(labels, STR("__profile_type__"));

	if (!type || !label_set_find(labels, STR("hostname")))
		return GPU_MEASURE_COUNT;
	for (enum gpu_measure i = 0; i < GPU_MEASURE_COUNT; i++)
		if (str_equal(*type, measures[i].type))
			return !measures[i].is_shared || is_of_cuda(labels) ? i : GPU_MEASURE_COUNT;
	return GPU_MEASURE_COUNT;
}

bool gpu_label_is_of_series(struct str name)
{
	static const char *const of_series[] = { "cuda_class", "cuda_error", "gpu",
		                                 "reason",     "recovered",  "state" };

	for (size_t i = 0; i < ARRAY_LENGTH(of_series); i++)
		if (str_equals(name, of_series[i]))
			return true;
	return str_starts_with(name, STR("__"));
}

bool gpu_class_is_on_device(struct str memory_class)
{
	static const char *const elsewhere[] = { "pinned", "registered", "graph" };

	for (size_t i = 0; i < ARRAY_LENGTH(elsewhere); i++)
		if (str_equals(memory_class, elsewhere[i]))
			return false;
	return true;
}
