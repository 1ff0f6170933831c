/* What the kernel side would send of this very thread: its registers, and its stack copied. */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "collector/cuda_event.h"
#include "collector/elf/architecture.h"

#define SELF_FRAMES_MAX 600

struct self_capture {
	struct captured_stack stack;
	uint8_t bytes[STACK_BYTES_MAX];
	/* What the unwinder of the C++ runtime says: the return addresses, innermost first. */
	void *expected[SELF_FRAMES_MAX];
	int expected_count;
};

extern struct self_capture self_capture;

/* The registers in DWARF's numbers. */
static inline void self_capture_registers(struct captured_stack *stack, const ucontext_t *context)
{
	static const int from[REGISTER_COUNT] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI,
		                                  REG_RDI, REG_RBP, REG_RSP, REG_R8,  REG_R9,
		                                  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
		                                  REG_R15, REG_RIP };

	for (int i = 0; i < REGISTER_COUNT; i++)
		stack->registers[i] = (uint64_t)context->uc_mcontext.gregs[from[i]];
}

/* Captures the thread in whom it runs, from its caller on. */
void self_capture_take(void);
