/*
 * The functions of the CUDA driver that are probed: cuda_functions.def.
 *
 * Shape    ids are lines of the table; BPF attaches with the id as cookie.
 */
#ifndef COLLECTOR_CUDA_FUNCTION_H
#define COLLECTOR_CUDA_FUNCTION_H

enum cuda_class {
	CUDA_CLASS_DEVICE,
	CUDA_CLASS_MANAGED,
	CUDA_CLASS_PINNED,
	CUDA_CLASS_REGISTERED,
	CUDA_CLASS_VMM,
	CUDA_CLASS_POOL,
	CUDA_CLASS_ARRAY,
	CUDA_CLASS_GRAPH,
	CUDA_CLASS_COUNT,
};

enum cuda_role {
	CUDA_ROLE_INIT,
	CUDA_ROLE_ALLOC,
	CUDA_ROLE_FREE,
};

enum cuda_function_id {
#define CUDA_FUNCTION(id, name, role, class, bytes, address) id,
#include "collector/cuda_functions.def"
#undef CUDA_FUNCTION
	CUDA_FUNCTION_COUNT,
};

struct cuda_function {
	const char *name; /* as exported; also the leaf frame of its stacks */
	enum cuda_role role;
	enum cuda_class memory_class;
	int bytes_argument;
	int address_argument;
};

#ifndef __BPF__
/* The line of an id below CUDA_FUNCTION_COUNT. */
const struct cuda_function *cuda_function(enum cuda_function_id id);

/* "device", "managed", ...: the label cuda_class. */
const char *cuda_class_name(enum cuda_class memory_class);
#endif

#endif
