/*
 * Sums by stack: one dense array of a window's stacks.
 *
 * Shape    a sum a stack, and a mark for each run of ACCUMULATOR_RUN stacks that was
 *          touched, so that reading the sums costs what was touched, not what there is.
 *          Memory is zero pages until it is written.
 * Errors   ERROR_UNAVAILABLE when the budget has no room.
 * Threads  none.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/budget.h"
#include "profile/symbols.h"

#define ACCUMULATOR_RUN_BITS 6
#define ACCUMULATOR_RUN      (1 << ACCUMULATOR_RUN_BITS)

struct accumulator {
	int64_t *sums;
	uint8_t *touched;  /* by run */
	uint32_t capacity; /* in stacks */
	size_t bytes;
	struct budget *budget; /* or NULL */
};

/* A zeroed one with a budget is empty. */
void accumulator_fini(struct accumulator *accumulator);

/* Room for stacks below `count`; what was summed stays. */
int accumulator_reserve(struct accumulator *accumulator, uint32_t count, struct error *err);

/* Asks the memory for the place of a stack that is added to soon. */
static inline void accumulator_prefetch(const struct accumulator *accumulator, uint32_t stack)
{
	__builtin_prefetch(&accumulator->sums[stack], 1);
}

/* Sums wrap. */
static inline void accumulator_add(struct accumulator *accumulator, uint32_t stack, int64_t value)
{
	accumulator->sums[stack] = (int64_t)((uint64_t)accumulator->sums[stack] + (uint64_t)value);
	accumulator->touched[stack >> ACCUMULATOR_RUN_BITS] = 1;
}

/*
 * Moves the sums that are not 0, stack 0 left out, into arrays in the arena: ids
 * ascending. Empty again then.
 */
int accumulator_take(struct accumulator *accumulator, struct arena *arena, struct stack_sums *out,
                     struct error *err);
