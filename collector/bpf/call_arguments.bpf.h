// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What a call is about: from the arguments of a driver function, by its line of
 * cuda_functions.def, to addresses and bytes.
 *
 * What the workload has in its memory is read at the entry, as the driver will see it; only
 * results are read at the return. Offsets are those of the structures of CUDA 13.0 on 64-bit
 * machines. What cannot be read is of no bytes.
 *
 * Source   collector specification 2.3
 */
#ifndef COLLECTOR_BPF_CALL_ARGUMENTS_BPF_H
#define COLLECTOR_BPF_CALL_ARGUMENTS_BPF_H

#include <bpf/bpf_core_read.h>

#include "collector/bpf/call_state.bpf.h"
#include "collector/bpf/kernel_types.bpf.h"
#include "collector/cuda_event.h"
#include "collector/cuda_function.h"

struct probed_function {
	__u8 role;
	__u8 memory_class;
	__u8 size;
	__s8 bytes;
	__s8 address;
	__s8 other;
};

/* Powers of two, so that a mask shows the verifier that an index lies inside. */
#define FUNCTION_SLOTS 128
#define ARGUMENTS_MAX  8 /* six are in registers */

_Static_assert(CUDA_FUNCTION_COUNT <= FUNCTION_SLOTS, "a line for each function");
_Static_assert((CUDA_CLASS_COUNT & (CUDA_CLASS_COUNT - 1)) == 0, "masked");

static const struct probed_function functions[FUNCTION_SLOTS] = {
#define CUDA_FUNCTION(id, name, role, class, space, size, bytes, address, other) \
	[id] = { CUDA_ROLE_##role, CUDA_CLASS_##class, CUDA_SIZE_##size, bytes, address, other },
#include "collector/cuda_functions.def"
#undef CUDA_FUNCTION
};

static __always_inline const struct probed_function *function_of(__u64 id)
{
	return &functions[id & (FUNCTION_SLOTS - 1)];
}

/* Of the System V calling convention. */
static __always_inline void read_arguments(const struct pt_regs *regs, __u64 *to)
{
	to[0] = regs->di;
	to[1] = regs->si;
	to[2] = regs->dx;
	to[3] = regs->cx;
	to[4] = regs->r8;
	to[5] = regs->r9;
}

/* Argument `number`, 0 for a negative number. */
static __always_inline __u64 argument(const __u64 *arguments, __s32 number)
{
	return number < 0 ? 0 : arguments[number & (ARGUMENTS_MAX - 1)];
}

static __always_inline __u64 user_half(__u64 address)
{
	__u32 half = 0;

	bpf_probe_read_user(&half, sizeof(half), (const void *)address);
	return half;
}

/* As events have it: a number that no device has is not known. */
static __always_inline __u16 device_of(__u64 number)
{
	return number < 0xffff ? (__u16)(number + 1) : 0;
}

#define BYTES_MOST ((1ULL << 63) - 1) /* sizes beyond it are that */

static __always_inline __u64 times(__u64 a, __u64 b)
{
	return b != 0 && a > BYTES_MOST / b ? BYTES_MOST : a * b;
}

/* ---- where memory lies: CUmemAllocationProp, CUmemPoolProps have the same place for it ---- */

#define PROPERTIES_LOCATION 8
#define LOCATION_ID         4
#define LOCATION_DEVICE     1 /* others are of the host */

/* CUmemLocation: what kind of place it is, and its number. */
static __always_inline void read_location(struct pending_call *call, __u64 address)
{
	const __u64 location = user_half(address);

	if (location == LOCATION_DEVICE) {
		call->device = device_of(user_half(address + LOCATION_ID));
	} else if (location != 0) {
		call->memory_class = CUDA_CLASS_PINNED;
		call->flags |= CUDA_EVENT_ON_HOST;
	}
}

/* ---- arrays: CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR ---- */

#define ARRAY_SPARSE   0x40 /* it has no memory of its own until that is mapped */
#define ARRAY_DEFERRED 0x80
#define MIP_LEVELS_MAX 32

struct array_shape {
	__u64 width;
	__u64 height;
	__u64 depth;
	__u32 format;
	__u32 channels;
	__u32 flags;
};

/* The offsets of a description's fields; how wide its lengths are. */
struct array_layout {
	__u8 height;
	__u8 depth; /* 0: there is none */
	__u8 format;
	__u8 channels;
	__u8 flags; /* 0: there are none */
	__u8 is_narrow;
};

static __always_inline __u64 read_length(__u64 address, int is_narrow)
{
	return is_narrow ? user_half(address) : user_word(address);
}

static __always_inline void read_shape(__u64 description, const struct array_layout *layout,
                                       struct array_shape *out)
{
	const int is_narrow = layout->is_narrow;

	out->width = read_length(description, is_narrow);
	out->height = read_length(description + layout->height, is_narrow);
	out->depth = layout->depth ? read_length(description + layout->depth, is_narrow) : 0;
	out->format = (__u32)user_half(description + layout->format);
	out->channels = (__u32)user_half(description + layout->channels);
	out->flags = layout->flags ? (__u32)user_half(description + layout->flags) : 0;
}

/* Of a channel: CUarray_format. */
static __always_inline __u64 format_bytes(__u32 format)
{
	switch (format) {
	case 0x01: /* 8 bits */
	case 0x08:
		return 1;
	case 0x02: /* 16 bits */
	case 0x09:
	case 0x10:
		return 2;
	case 0x03: /* 32 bits */
	case 0x0a:
	case 0x20:
		return 4;
	default:
		return 1;
	}
}

static __always_inline __u64 at_least_1(__u64 length)
{
	return length > 0 ? length : 1;
}

/* One level: halved in every direction so many times. */
static __always_inline __u64 level_bytes(const struct array_shape *shape, __u32 level)
{
	__u64 bytes = times(format_bytes(shape->format), shape->channels);

	bytes = times(bytes, at_least_1(shape->width >> level));
	bytes = times(bytes, at_least_1(shape->height >> level));
	return times(bytes, at_least_1(shape->depth >> level));
}

static __always_inline __u64 array_bytes(const struct pending_call *call,
                                         const struct array_layout *layout, __u64 levels)
{
	struct array_shape shape;
	__u64 sum = 0;

	read_shape(call->bytes, layout, &shape);
	if (shape.width == 0 || (shape.flags & (ARRAY_SPARSE | ARRAY_DEFERRED)))
		return 0;
	for (__u32 i = 0; i < MIP_LEVELS_MAX; i++) {
		if (i >= levels)
			break;
		sum += level_bytes(&shape, i);
		if (sum > BYTES_MOST)
			return BYTES_MOST;
	}
	return sum;
}

/* ---- nodes of graphs: CUDA_MEM_ALLOC_NODE_PARAMS, CUgraphNodeParams ---- */

#define GRAPH_ALLOC_DEVICE 12
#define GRAPH_ALLOC_BYTES  104
#define GRAPH_ALLOC_RESULT 112
#define GRAPH_NODE_UNION   16 /* behind the kind of node */
#define GRAPH_NODE_ALLOC   10
#define GRAPH_NODE_FREE    11

static __always_inline void read_graph_alloc(struct pending_call *call, __u64 parameters)
{
	call->bytes = user_word(parameters + GRAPH_ALLOC_BYTES);
	call->address = parameters + GRAPH_ALLOC_RESULT;
	call->device = device_of(user_half(parameters + GRAPH_ALLOC_DEVICE));
}

/* 0: a node that is not about memory. */
static __always_inline int read_graph_node(struct pending_call *call)
{
	const __u64 kind = user_half(call->address);

	if (kind == GRAPH_NODE_ALLOC) {
		read_graph_alloc(call, call->address + GRAPH_NODE_UNION);
		return 1;
	}
	if (kind != GRAPH_NODE_FREE)
		return 0;
	call->role = CUDA_ROLE_FREE;
	call->address = user_word(call->address + GRAPH_NODE_UNION);
	return 1;
}

/* ---- a call ---- */

/*
 * Completes `call` by what its arguments point to; 0: it is of no concern. A function of its
 * own, for the common sizes are not in need of it.
 */
static __noinline int read_described(struct pending_call *call, __u32 size)
{
	static const struct array_layout array = { 8, 0, 16, 20, 0, 0 };
	static const struct array_layout array_narrow = { 4, 0, 8, 12, 0, 1 };
	static const struct array_layout array_3d = { 8, 16, 24, 28, 32, 0 };
	static const struct array_layout array_3d_narrow = { 4, 8, 12, 16, 20, 1 };

	if (!call)
		return 0;
	switch (size) {
	case CUDA_SIZE_PROPERTIES:
		read_location(call, call->other + PROPERTIES_LOCATION);
		return 1;
	case CUDA_SIZE_LOCATION:
		read_location(call, call->other);
		return 1;
	case CUDA_SIZE_ARRAY:
		call->bytes = array_bytes(call, &array, 1);
		return 1;
	case CUDA_SIZE_ARRAY_NARROW:
		call->bytes = array_bytes(call, &array_narrow, 1);
		return 1;
	case CUDA_SIZE_ARRAY_3D:
		call->bytes = array_bytes(call, &array_3d, 1);
		return 1;
	case CUDA_SIZE_ARRAY_3D_NARROW:
		call->bytes = array_bytes(call, &array_3d_narrow, 1);
		return 1;
	case CUDA_SIZE_MIPMAPPED:
		call->bytes = array_bytes(call, &array_3d, (__u32)call->other);
		return 1;
	case CUDA_SIZE_GRAPH_ALLOC:
		read_graph_alloc(call, call->address);
		return 1;
	case CUDA_SIZE_GRAPH_NODE:
		return read_graph_node(call);
	default:
		return 1;
	}
}

/* Whether `other` is the number of a device. */
static __always_inline int is_of_device(const struct probed_function *function)
{
	const __u32 role = function->role;

	return function->size == CUDA_SIZE_NUMBER || role == CUDA_ROLE_CONTEXT ||
	       role == CUDA_ROLE_PRIMARY || role == CUDA_ROLE_PRIMARY_RELEASE ||
	       role == CUDA_ROLE_PRIMARY_RESET || role == CUDA_ROLE_DEVICE_UUID;
}

#define PID_LEVELS_MAX 32 /* of namespaces in each other, which the kernel allows */

/* The pid namespace of the caller, by its inode; 0: it cannot be read. */
static __noinline __u32 callers_namespace(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct pid *pid = BPF_CORE_READ(task, thread_pid);
	const __u32 level = BPF_CORE_READ(pid, level);
	struct upid number = { 0 };

	if (level >= PID_LEVELS_MAX)
		return 0;
	bpf_core_read(&number, sizeof(number), &pid->numbers[level]);
	return BPF_CORE_READ(number.ns, ns.inum);
}

/* Whether `other` is the number of a process. */
static __always_inline int is_of_process(__u32 role)
{
	return role >= CUDA_ROLE_PROCESS_LOCK && role <= CUDA_ROLE_PROCESS_UNLOCK;
}

/* The call of line `id` with these registers; 0: it is of no concern. */
static __always_inline int call_of(const struct pt_regs *regs, __u32 id, struct pending_call *out)
{
	const struct probed_function *function = function_of(id);
	__u64 arguments[ARGUMENTS_MAX] = { 0 };

	read_arguments(regs, arguments);
	*out = (struct pending_call){
		.stack_pointer = regs->sp,
		.start_ns = bpf_ktime_get_boot_ns(),
		.address = argument(arguments, function->address),
		.bytes = argument(arguments, function->bytes),
		.other = argument(arguments, function->other),
		.function = (__u16)id,
		.role = function->role,
		.memory_class = function->memory_class,
	};
	if (is_of_device(function))
		out->device = device_of((__u32)out->other);
	if (is_of_process(out->role)) {
		out->address = callers_namespace();
		out->bytes = (__u32)bpf_get_current_uid_gid();
		out->other = (__u32)out->other;
	}
	switch (function->size) {
	case CUDA_SIZE_NONE:
	case CUDA_SIZE_NUMBER:
	case CUDA_SIZE_ARGUMENT:
	case CUDA_SIZE_PITCH:
		return 1;
	case CUDA_SIZE_NARROW:
	case CUDA_SIZE_NARROW_BYTES:
	case CUDA_SIZE_PITCH_NARROW:
		out->bytes = (__u32)out->bytes;
		if (out->role == CUDA_ROLE_FREE)
			out->address = (__u32)out->address;
		return 1;
	default:
		return read_described(out, function->size);
	}
}

/* Whether what calls of that role give is an int. */
static __always_inline int gives_number(__u32 role)
{
	return role == CUDA_ROLE_DEVICE_COUNT || role == CUDA_ROLE_CURRENT_DEVICE ||
	       role == CUDA_ROLE_DEVICE_OF;
}

/* What the driver has written: 0 when it could be read. */
static __always_inline int read_result(struct pending_call *call, __u64 *out)
{
	const __u32 size = function_of(call->function)->size;
	const void *at = (const void *)call->address;
	__u32 half = 0;
	int rc;

	if (size == CUDA_SIZE_PITCH)
		call->bytes = times(user_word(call->other), call->bytes);
	if (size == CUDA_SIZE_PITCH_NARROW)
		call->bytes = times(user_half(call->other), call->bytes);
	if (size != CUDA_SIZE_NARROW && size != CUDA_SIZE_PITCH_NARROW && !gives_number(call->role))
		return (int)bpf_probe_read_user(out, sizeof(*out), at);
	rc = (int)bpf_probe_read_user(&half, sizeof(half), at);
	*out = half;
	return rc;
}

#endif
