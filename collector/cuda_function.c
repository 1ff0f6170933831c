#include "collector/cuda_function.h"

#include <assert.h>

static const struct cuda_function functions[CUDA_FUNCTION_COUNT] = {
#define CUDA_FUNCTION(id, name, role, class, space, size, bytes, address, other) \
	[id] = { name, CUDA_ROLE_##role, CUDA_CLASS_##class, CUDA_SPACE_##space },
#include "collector/cuda_functions.def"
#undef CUDA_FUNCTION
};

static const char *const class_names[CUDA_CLASS_COUNT] = {
	[CUDA_CLASS_DEVICE] = "device", [CUDA_CLASS_MANAGED] = "managed",
	[CUDA_CLASS_PINNED] = "pinned", [CUDA_CLASS_REGISTERED] = "registered",
	[CUDA_CLASS_VMM] = "vmm",       [CUDA_CLASS_POOL] = "pool",
	[CUDA_CLASS_ARRAY] = "array",   [CUDA_CLASS_GRAPH] = "graph",
};

const struct cuda_function *cuda_function(enum cuda_function_id id)
{
	assert(id < CUDA_FUNCTION_COUNT);
	return &functions[id];
}

const char *cuda_class_name(enum cuda_class memory_class)
{
	assert(memory_class < CUDA_CLASS_COUNT);
	return class_names[memory_class];
}
