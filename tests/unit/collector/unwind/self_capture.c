#include "tests/unit/collector/unwind/self_capture.h"

#include <unwind.h>

struct self_capture self_capture;

/* The runtime's own walk: also of a sanitizer's program, where backtrace() is another. */
static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *unused)
{
	(void)unused;
	if (_Unwind_GetIP(context) == 0)
		return _URC_END_OF_STACK;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address that is compared */
	self_capture.expected[self_capture.expected_count] = (void *)_Unwind_GetIP(context);
	return ++self_capture.expected_count == SELF_FRAMES_MAX ? _URC_END_OF_STACK
	                                                        : _URC_NO_REASON;
}

/* The stack of this thread ends here. Asked once: it takes memory, as no handler may. */
static uint64_t stack_end(void)
{
	static _Thread_local uint64_t end;
	pthread_attr_t attributes;
	void *start = NULL;
	size_t size = 0;

	if (end)
		return end;
	(void)pthread_getattr_np(pthread_self(), &attributes);
	(void)pthread_attr_getstack(&attributes, &start, &size);
	(void)pthread_attr_destroy(&attributes);
	end = (uint64_t)(uintptr_t)start + size;
	return end;
}

/* Not memcpy(): sanitizers watch that one, and this reads what is nobody's variable. */
static void copy_words(uint64_t base, uint32_t length)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it is our own stack */
	const volatile uint64_t *from = (const volatile uint64_t *)(uintptr_t)base;

	for (uint32_t i = 0; i < length / sizeof(*from); i++) {
		const uint64_t word = from[i];

		__builtin_memcpy(self_capture.bytes + i * sizeof(word), &word, sizeof(word));
	}
}

__attribute__((noinline)) void self_capture_take(void)
{
	const uint64_t end = stack_end();
	struct captured_stack *stack = &self_capture.stack;
	ucontext_t context;
	uint64_t length;

	memset(stack, 0, sizeof(*stack));
	self_capture.expected_count = 0;
	(void)_Unwind_Backtrace(take_frame, NULL);
	(void)getcontext(&context);
	self_capture_registers(stack, &context);
	stack->base = stack->registers[REGISTER_STACK_POINTER];
	length = end - stack->base;
	stack->length = (uint32_t)(length < STACK_BYTES_MAX ? length : STACK_BYTES_MAX);
	copy_words(stack->base, stack->length);
}
