/*
 * What one process has allocated, by stack, class and device.
 *
 * Shape    one sum for each stack, class and device that was ever seen, until it is dropped;
 *          its number is what a live block keeps. The first CUDA_CLASS_COUNT are those of
 *          STACK_LOST on no device that is known, and stay: also where there is no room for
 *          another.
 *          Deltas count since the last memory_sums_sent().
 * Units    bytes; devices are 1 + their number, 0 when not known.
 * Threads  none: the collector's.
 *
 * Invariants, asserted by memory_sums_check():
 *   1. no two sums have the same stack, class and device;
 *   2. a sum without live blocks has no live bytes.
 */
#pragma once

#include <stdint.h>

#include "base/budget.h"
#include "base/id_map.h"
#include "collector/cuda_function.h"
#include "collector/live/high_water.h"
#include "collector/live/wide_sum.h"

struct memory_sum {
	uint32_t stack;
	enum cuda_class memory_class;
	uint16_t device;
	wide_sum alloc_bytes; /* delta */
	wide_sum live_bytes;
	uint64_t alloc_objects; /* delta */
	uint64_t live_objects;
	wide_sum kept_bytes; /* live ones, when high_water.h had kept_number */
	uint64_t kept_number;
};

struct memory_sums {
	struct budget *budget;
	struct memory_sum *sums;
	struct id_map ids; /* by stack, class and device; its numbers are those of the sums */
	size_t capacity;
	struct high_water high;
};

/* The budget outlives the sums. */
void memory_sums_init(struct memory_sums *sums, struct budget *budget);
void memory_sums_fini(struct memory_sums *sums);

/* What a sum is of. */
struct memory_place {
	uint32_t stack;
	enum cuda_class memory_class;
	uint16_t device;
};

/* The number of the sum of a place; that of STACK_LOST and no device when there is no room. */
uint32_t memory_sums_find(struct memory_sums *sums, const struct memory_place *place);

static inline struct memory_sum *memory_sums_at(const struct memory_sums *sums, uint32_t number)
{
	return &sums->sums[number];
}

static inline size_t memory_sums_count(const struct memory_sums *sums)
{
	return sums->ids.count;
}

/* Deltas are zero again: they were handed on. */
void memory_sums_sent(struct memory_sums *sums);

/*
 * Drops sums without live blocks, deltas and a share in the highest point, and gives the others' stacks the numbers
 * that `stack_numbers` has for them; NULL: they keep theirs, and nothing is done unless
 * half of the sums can be dropped. *out_numbers has the new number of each old sum
 * (UINT32_MAX: dropped), free() it; NULL when nothing has changed.
 */
void memory_sums_rebuild(struct memory_sums *sums, const uint32_t *stack_numbers,
                         uint32_t **out_numbers);

void memory_sums_check(const struct memory_sums *sums);
