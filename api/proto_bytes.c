#include "api/proto_bytes.h"

static void *allocate(void *arena, size_t size)
{
	return arena_alloc(arena, size);
}

static void release(void *arena, void *memory)
{
	(void)arena;
	(void)memory;
}

ProtobufCAllocator proto_allocator(struct arena *arena)
{
	return (ProtobufCAllocator){
		.alloc = allocate,
		.free = release,
		.allocator_data = arena,
	};
}
