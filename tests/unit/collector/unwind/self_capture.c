#include "tests/unit/collector/unwind/self_capture.h"

#include <execinfo.h>

struct self_capture self_capture;

/* The stack of this thread ends here. */
static uint64_t stack_end(void)
{
	pthread_attr_t attributes;
	void *start = NULL;
	size_t size = 0;

	(void)pthread_getattr_np(pthread_self(), &attributes);
	(void)pthread_attr_getstack(&attributes, &start, &size);
	(void)pthread_attr_destroy(&attributes);
	return (uint64_t)(uintptr_t)start + size;
}

__attribute__((noinline)) void self_capture_take(void)
{
	const uint64_t end = stack_end();
	struct captured_stack *stack = &self_capture.stack;
	ucontext_t context;
	uint64_t length;

	memset(stack, 0, sizeof(*stack));
	self_capture.expected_count = backtrace(self_capture.expected, SELF_FRAMES_MAX);
	(void)getcontext(&context);
	self_capture_registers(stack, &context);
	stack->base = stack->registers[REGISTER_STACK_POINTER] & ~(uint64_t)(STACK_PAGE - 1);
	length = end - stack->base;
	stack->length = (uint32_t)(length < STACK_BYTES_MAX ? length : STACK_BYTES_MAX);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is our own stack */
	memcpy(self_capture.bytes, (const void *)(uintptr_t)stack->base, stack->length);
}
