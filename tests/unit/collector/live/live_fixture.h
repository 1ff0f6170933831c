/*
 * Events and stacks as the collector's loop would have them.
 */
#pragma once

#include "base/cleanup.h"
#include "collector/cuda_event.h"
#include "collector/cuda_function.h"
#include "collector/frame.h"
#include "collector/live/stack_table.h"

static inline struct cuda_event alloc_event(uint64_t address, uint64_t bytes)
{
	return (struct cuda_event){ .kind = CUDA_EVENT_ALLOC,
		                    .function = CU_MEM_ALLOC_V2,
		                    .tgid = 100,
		                    .tid = 100,
		                    .process_start_ns = 5,
		                    .time_ns = 1000,
		                    .address = address,
		                    .bytes = bytes,
		                    .comm = "worker" };
}

static inline struct cuda_event free_event(uint64_t address)
{
	struct cuda_event event = alloc_event(address, 0);

	event.kind = CUDA_EVENT_FREE;
	event.function = CU_MEM_FREE_V2;
	return event;
}

static inline struct cuda_event undone_event(uint64_t address, int32_t result)
{
	struct cuda_event event = free_event(address);

	event.kind = CUDA_EVENT_FREE_UNDONE;
	event.result = result;
	return event;
}

static inline struct cuda_event failed_event(uint64_t bytes, int32_t result)
{
	struct cuda_event event = alloc_event(0, bytes);

	event.kind = CUDA_EVENT_FAILED;
	event.result = result;
	return event;
}

/* The stack of these native functions, leaf first, below cuMemAlloc_v2. */
static inline uint32_t stack_of(struct stack_table *table, const char *const *names, size_t count)
{
	struct frame frames[FRAMES_MAX] = { 0 };
	const struct frame_list list = { frames, count };

	for (size_t i = 0; i < count; i++)
		frames[i] = (struct frame){ .name = str_of(names[i]),
			                    .kind = FUNCTION_NATIVE,
			                    .module = STR("/opt/app"),
			                    .address = 0x1000 + i };
	return stack_table_add(table, CU_MEM_ALLOC_V2, &list, NULL);
}

#define STACK_OF(table, ...)                                    \
	stack_of((table), (const char *const[]){ __VA_ARGS__ }, \
	         ARRAY_LENGTH(((const char *const[]){ __VA_ARGS__ })))
