#include "collector/python/python_memory.h"

#include "collector/unwind/address_space.h"

static size_t read_space(const void *context, uint64_t address, void *to, size_t length)
{
	return address_space_memory(context, address, to, length);
}

struct python_memory python_memory_of_space(const struct address_space *space)
{
	return (struct python_memory){ .read = read_space, .context = space };
}
