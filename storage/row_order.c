#include "storage/row_order.h"

#include <string.h>

#define DIGIT_BITS 8
#define DIGITS     (1 << DIGIT_BITS)

/*
 * One pass: by the digit at `shift`, from `from` to `to`. False when all have the same
 * digit.
 */
static int sort_digit(const struct row_key *from, struct row_key *to, size_t count, unsigned shift)
{
	size_t places[DIGITS] = { 0 };
	size_t place = 0;

	for (size_t i = 0; i < count; i++)
		places[from[i].stack >> shift & (DIGITS - 1)]++;
	if (places[from[0].stack >> shift & (DIGITS - 1)] == count)
		return 0;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		const size_t own = places[digit];

		places[digit] = place;
		place += own;
	}
	for (size_t i = 0; i < count; i++)
		to[places[from[i].stack >> shift & (DIGITS - 1)]++] = from[i];
	return 1;
}

void row_order_sort(struct row_key *keys, struct row_key *spare, size_t count)
{
	struct row_key *from = keys;
	struct row_key *to = spare;

	if (count < 2)
		return;
	for (unsigned shift = 0; shift < 32; shift += DIGIT_BITS) {
		if (sort_digit(from, to, count, shift)) {
			struct row_key *swap = from;

			from = to;
			to = swap;
		}
	}
	if (from != keys)
		memcpy(keys, from, count * sizeof(*keys));
}
