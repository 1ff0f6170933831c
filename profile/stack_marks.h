/*
 * Which nodes of a window's stack tree lie on the way to some of its stacks.
 *
 * Shape    a bit a node, and, once ranked, a dense number for each marked node, in
 *          ascending order of ids (parents first): what is computed a node then takes
 *          memory for the marked ones only. Marks are used for one window after another;
 *          memory is kept.
 * Errors   ERROR_TOO_LARGE or ERROR_UNAVAILABLE when the arena is full.
 * Threads  none.
 *
 *	stack_marks_begin(&marks, stack_count, err);
 *	stack_marks_add(&marks, symbols, stack);       for each stack
 *	count = stack_marks_rank(&marks);
 *	stack = stack_marks_next(&marks, 0);           then from each to the next, until 0
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "profile/symbols.h"

struct stack_marks {
	struct arena *arena;
	uint64_t *bits;
	uint32_t *ranks; /* marked nodes before each word of bits */
	size_t word_count;
	size_t word_capacity;
};

/*
 * No node of a tree of stack_count nodes is marked. `marks` is zeroed but for its arena
 * before the first time.
 */
int stack_marks_begin(struct stack_marks *marks, uint32_t stack_count, struct error *err);

/* Marks a stack and all above it; the root (0) is never marked. */
void stack_marks_add(struct stack_marks *marks, const struct symbols *symbols, uint32_t stack);

/* Numbers the marked nodes; returns how many there are. */
uint32_t stack_marks_rank(struct stack_marks *marks);

/* The first marked node behind `stack`, or 0. */
uint32_t stack_marks_next(const struct stack_marks *marks, uint32_t stack);

/* The number of a marked node, from 0. */
static inline uint32_t stack_marks_number(const struct stack_marks *marks, uint32_t stack)
{
	const uint64_t below = ((uint64_t)1 << (stack & 63)) - 1;

	return marks->ranks[stack >> 6] +
	       (uint32_t)__builtin_popcountll(marks->bits[stack >> 6] & below);
}
