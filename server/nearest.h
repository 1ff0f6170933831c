/*
 * "Did you mean": the nearest of some names.
 *
 * Shape    edit distance with transpositions; near is at most a third of the name's
 *          length. Dots, dashes and underscores count as one character.
 * Threads  any.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

#define NEAREST_NAME_MAX 96 /* bytes; longer names have no neighbours */

struct nearest {
	struct str wanted;
	const char *name; /* the nearest so far, or NULL */
	size_t distance;
};

void nearest_init(struct nearest *nearest, struct str wanted);

/* Compares one more name, which must outlive *nearest. */
void nearest_add(struct nearest *nearest, const char *name);

/* How many insertions, deletions, replacements and swaps make b of a. */
size_t nearest_distance(struct str a, struct str b);
