/*
 * What the programs in the kernel must know of the Python interpreter of a program.
 *
 * Shape    the value of a map whose key is the program's exec_identity; written by user
 *          space once it has seen that it fits the process. Fixed widths, no pointers, no
 *          padding that is not named.
 * Units    offsets are bytes.
 * Source   unwinding specification 1 to 3
 */
#ifndef COLLECTOR_PYTHON_DESCRIPTION_H
#define COLLECTOR_PYTHON_DESCRIPTION_H

#ifndef __BPF__
#include <linux/types.h>
#endif

#define PYTHON_OFFSET_NONE 0xffffffffU /* there is no such field */

#define PYTHON_VERSION(major, minor) ((major) << 8 | (minor))
#define PYTHON_VERSION_OLDEST        PYTHON_VERSION(3, 8)
#define PYTHON_VERSION_NEWEST        PYTHON_VERSION(3, 14)

#define PYTHON_POINTER_TAGS 3ULL /* low bits of a frame's references, 3.13 and later */

struct python_offsets {
#define PYTHON_OFFSET(field, ...) __u32 field;
#include "collector/python/python_offsets.def"
#undef PYTHON_OFFSET
	__u32 reserved;
};

/*
 * Where a thread keeps its value of a pthread key k: at
 *	*(thread pointer + blocks + 8 * (k >> block_bits)) + entry * (k & ~(~0 << block_bits)) + data
 */
struct python_thread_data {
	__s32 blocks;
	__u32 block_bits;
	__u32 entry;
	__u32 data;
};

enum python_description_flag {
	PYTHON_THREAD_DATA = 1 << 0,   /* thread_data was seen to lead to thread states */
	PYTHON_FREE_THREADED = 1 << 1, /* a build without the GIL */
};

/* One more word of what is hashed; every bit of it reaches every bit of the hash. */
static inline __u64 python_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ULL;
	return hash ^ hash >> 32;
}

/*
 * What tells a code object from others that were at its address before, hashed: where its
 * name and its line table are, and its serial number (since 3.12) or its name's own hash.
 * Never 0.
 */
static inline __u64 python_code_content(__u64 name, __u64 lines, __u64 serial)
{
	return python_mix(python_mix(name, lines), serial) | 1ULL << 63;
}

/* As much of it as is sent. */
static inline __u32 python_code_tag(__u64 content)
{
	return (__u32)(content >> 32);
}

struct python_description {
	__u64 runtime;         /* address of _PyRuntime */
	__u64 code_type;       /* address of PyCode_Type */
	__u32 version;         /* 0x030c for 3.12 */
	__u32 flags;           /* of python_description_flag */
	__u32 string_kind_bit; /* of a string's state: its three bits of bytes a character */
	__u32 string_ascii_bit;
	struct python_thread_data thread_data;
	struct python_offsets offsets;
};

#endif
