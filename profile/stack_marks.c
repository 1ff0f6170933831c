#include "profile/stack_marks.h"

#include <string.h>

int stack_marks_begin(struct stack_marks *marks, uint32_t stack_count, struct error *err)
{
	const size_t words = ((size_t)stack_count + 63) / 64;

	if (words > marks->word_capacity) {
		marks->bits = arena_array_raw(marks->arena, words, sizeof(*marks->bits));
		marks->ranks = arena_array_raw(marks->arena, words, sizeof(*marks->ranks));
		marks->word_capacity = marks->bits && marks->ranks ? words : 0;
		if (marks->word_capacity == 0)
			return arena_error(marks->arena, err);
	}
	marks->word_count = words;
	if (words > 0)
		memset(marks->bits, 0, words * sizeof(*marks->bits));
	return 0;
}

void stack_marks_add(struct stack_marks *marks, const struct symbols *symbols, uint32_t stack)
{
	while (stack != 0) {
		const uint64_t bit = (uint64_t)1 << (stack & 63);

		if (marks->bits[stack >> 6] & bit)
			return;
		marks->bits[stack >> 6] |= bit;
		stack = SYMBOLS_AT(symbols->stacks, stack)->parent;
	}
}

uint32_t stack_marks_rank(struct stack_marks *marks)
{
	uint32_t count = 0;

	for (size_t i = 0; i < marks->word_count; i++) {
		marks->ranks[i] = count;
		count += (uint32_t)__builtin_popcountll(marks->bits[i]);
	}
	return count;
}

uint32_t stack_marks_next(const struct stack_marks *marks, uint32_t stack)
{
	size_t word = ((size_t)stack + 1) >> 6;
	uint64_t bits;

	if (word >= marks->word_count)
		return 0;
	bits = marks->bits[word] >> ((stack + 1) & 63) << ((stack + 1) & 63);
	while (bits == 0) {
		if (++word == marks->word_count)
			return 0;
		bits = marks->bits[word];
	}
	return (uint32_t)(word << 6) + (uint32_t)__builtin_ctzll(bits);
}
