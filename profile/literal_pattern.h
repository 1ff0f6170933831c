/*
 * Patterns that are nothing but a choice of texts: "a|b|c", as panels with variables send.
 *
 * Shape    alternatives of literal bytes and escaped punctuation, the whole perhaps in one
 *          pair of parentheses: such a pattern, anchored at both ends, matches its
 *          alternatives and nothing else, so that they can be looked up.
 * Source   RE2's syntax; read specification, 3.4.3
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/*
 * The texts of a pattern that compiles, in its order. False when it is another kind of
 * pattern, or when the arena is full: then it is still a pattern.
 */
bool literal_pattern_read(struct str pattern, struct arena *arena, struct str **out,
                          size_t *out_count);
