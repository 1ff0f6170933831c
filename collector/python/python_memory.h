/*
 * Reading the memory of another process.
 *
 * Shape    a function and what it reads from, so that a test has its own. The process may
 *          change or end between two reads.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_space; /* collector/unwind/address_space.h */

struct python_memory {
	/* How many of the bytes there were. */
	size_t (*read)(const void *context, uint64_t address, void *to, size_t length);
	const void *context;
};

/* That of the process whose address space it is; borrowed. */
struct python_memory python_memory_of_space(const struct address_space *space);

/* All of the bytes, or false. */
static inline bool python_memory_read(const struct python_memory *memory, uint64_t address,
                                      void *to, size_t length)
{
	return memory->read(memory->context, address, to, length) == length;
}

/* The number or pointer at an address; 0 when it is not there. */
static inline uint64_t python_memory_u64(const struct python_memory *memory, uint64_t address)
{
	uint64_t value;

	return python_memory_read(memory, address, &value, sizeof(value)) ? value : 0;
}

static inline uint32_t python_memory_u32(const struct python_memory *memory, uint64_t address)
{
	uint32_t value;

	return python_memory_read(memory, address, &value, sizeof(value)) ? value : 0;
}
