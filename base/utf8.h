/*
 * UTF-8, checked and repaired.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/*
 * Whether all of it is well-formed UTF-8: no surrogates, no overlong forms, at most
 * U+10FFFF. ASCII goes by 32 bytes at a time.
 */
bool utf8_is_valid(struct str text);

/*
 * Bytes of the first character, 0 when `text` is empty, -1 when its first byte does not
 * begin one (as Go counts: each bad byte is one). *out_rune gets the character or U+FFFD.
 */
int utf8_next(struct str text, uint32_t *out_rune);

/*
 * `text` itself when it is valid, else a copy with U+FFFD for each bad byte, and a NUL
 * behind it. {NULL, 0} when the arena is full; an empty text never has a NULL pointer.
 */
struct str utf8_repair(struct arena *arena, struct str text);

/* Writes 1 to 4 bytes (those of U+FFFD for what is no character). Returns their count. */
size_t utf8_put(char *to, uint32_t rune);
