/* The copied bytes of a stack: all memory that unwinding may read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct stack_memory {
	uint64_t base; /* address of the first byte */
	uint64_t length;
	const uint8_t *bytes;
};

/* `length` bytes (8 at most) at an address, little-endian. False outside of the copy. */
static inline bool stack_memory_read(const struct stack_memory *memory, uint64_t address,
                                     size_t length, uint64_t *out)
{
	const uint64_t skip = address - memory->base;

	if (skip >= memory->length || length > memory->length - skip)
		return false;
	*out = 0;
	memcpy(out, memory->bytes + skip, length);
	return true;
}
