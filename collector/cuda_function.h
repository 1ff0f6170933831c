/*
 * The functions of the CUDA driver that are probed: cuda_functions.def.
 *
 * Shape    ids are lines of the table; BPF attaches with the id as cookie.
 * Source   collector specification 2.3
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

/* What a call does. All but INIT are outermost calls; only those that succeed do anything. */
enum cuda_role {
	CUDA_ROLE_INIT,
	CUDA_ROLE_ALLOC,           /* gives bytes at *address */
	CUDA_ROLE_REGISTER,        /* pins bytes that lie at address */
	CUDA_ROLE_FREE,            /* takes address back, or a reference to that handle */
	CUDA_ROLE_IMPORT,          /* gives *address, memory that another process allocated */
	CUDA_ROLE_RETAIN,          /* one more reference to the handle *address */
	CUDA_ROLE_MAP,             /* bytes at address are those of the handle `other` */
	CUDA_ROLE_UNMAP,           /* bytes at address are nobody's */
	CUDA_ROLE_CONTEXT,         /* gives *address, a context on the device `other` */
	CUDA_ROLE_CONTEXT_END,     /* of the context address */
	CUDA_ROLE_PRIMARY,         /* gives *address, the primary context of `other` */
	CUDA_ROLE_PRIMARY_RELEASE, /* one reference less to the primary context of `other` */
	CUDA_ROLE_PRIMARY_RESET,   /* the primary context of the device `other` ends */
	CUDA_ROLE_DEVICE_COUNT,    /* gives *address, as many devices as there are */
	CUDA_ROLE_PRIVATE_TABLE,   /* may make contexts that are not seen */
	CUDA_ROLE_DEVICE_UUID,     /* gives *address, the 16 bytes of the device `other` */

	/*
	 * of the process `other`, a number in the caller's pid namespace, which is address;
	 * bytes is the caller's uid
	 */
	CUDA_ROLE_PROCESS_LOCK,       /* its calls wait */
	CUDA_ROLE_PROCESS_CHECKPOINT, /* what it holds on devices is on the host */
	CUDA_ROLE_PROCESS_RESTORE,    /* and where it was */
	CUDA_ROLE_PROCESS_UNLOCK,     /* its calls go on */

	/* many, and asked for only in processes with several devices: cuda_role_is_of_several() */
	CUDA_ROLE_CURRENT_SET,    /* the context address is current, in the place of another */
	CUDA_ROLE_CURRENT_PUSH,   /* it is current until it is popped */
	CUDA_ROLE_CURRENT_POP,    /* *address was current, and what was below it is */
	CUDA_ROLE_CURRENT_TOLD,   /* *address is current */
	CUDA_ROLE_CURRENT_DEVICE, /* the current context is on the device *address */
	CUDA_ROLE_DEVICE_OF,      /* the context `other` is on the device *address */
	CUDA_ROLE_STREAM,         /* gives *address, a stream of the current context */
	CUDA_ROLE_STREAM_END,     /* of the stream address */
	CUDA_ROLE_POOL,           /* gives *address, a pool of a device */
	CUDA_ROLE_POOL_END,       /* of the pool address */
};

/* Whether calls of that role have probes only in processes that see several devices. */
static inline int cuda_role_is_of_several(int role)
{
	return role >= CUDA_ROLE_CURRENT_SET;
}

/* Addresses, handles and objects of different spaces may be equal and are not the same. */
enum cuda_space {
	CUDA_SPACE_ADDRESS,    /* unified addresses */
	CUDA_SPACE_REGISTERED, /* the host's own memory, pinned */
	CUDA_SPACE_OBJECT,     /* arrays, external memory */
	CUDA_SPACE_HANDLE,     /* of physical memory */
};

/* How many bytes a call is about; `bytes` and `other` are arguments. */
enum cuda_size {
	CUDA_SIZE_NONE,
	CUDA_SIZE_ARGUMENT,        /* bytes */
	CUDA_SIZE_NARROW,          /* bytes, as *address of 32 bits */
	CUDA_SIZE_NARROW_BYTES,    /* bytes, of 32 bits */
	CUDA_SIZE_PITCH,           /* *other, at the return, times bytes */
	CUDA_SIZE_PITCH_NARROW,    /* the same of 32 bits, as *address */
	CUDA_SIZE_PROPERTIES,      /* bytes; *other says where they lie */
	CUDA_SIZE_LOCATION,        /* none; *other is where it lies */
	CUDA_SIZE_NUMBER,          /* none; `other` is a device */
	CUDA_SIZE_ARRAY,           /* what the description *bytes needs */
	CUDA_SIZE_ARRAY_NARROW,    /* the same, of the first version of the API */
	CUDA_SIZE_ARRAY_3D,        /* the same in three dimensions */
	CUDA_SIZE_ARRAY_3D_NARROW, /* the same, of the first version */
	CUDA_SIZE_MIPMAPPED,       /* the same, for `other` levels */
	CUDA_SIZE_GRAPH_ALLOC,     /* *address are a node's parameters: bytes, and the result */
	CUDA_SIZE_GRAPH_NODE,      /* the same of any kind of node, the kind in front */
};

enum cuda_function_id {
#define CUDA_FUNCTION(id, name, role, class, space, size, bytes, address, other) id,
#include "collector/cuda_functions.def"
#undef CUDA_FUNCTION
	CUDA_FUNCTION_COUNT,
	CUDA_FUNCTION_COMMON_COUNT = CU_CTX_SET, /* those with probes in all processes are first */
};

struct cuda_function {
	const char *name; /* as exported; also the leaf frame of its stacks */
	enum cuda_role role;
	enum cuda_class memory_class;
	enum cuda_space space;
};

#ifndef __BPF__
/* The line of an id below CUDA_FUNCTION_COUNT. */
const struct cuda_function *cuda_function(enum cuda_function_id id);

/* "device", "managed", ...: the label cuda_class. */
const char *cuda_class_name(enum cuda_class memory_class);
#endif

#endif
