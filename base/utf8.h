/*
 * UTF-8, checked and repaired.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* Whether all of it is well-formed UTF-8 (no surrogates, no overlong forms, at most U+10FFFF). */
bool utf8_is_valid(struct str text);

/*
 * Bytes of the first character, 0 when `text` is empty, or a negative count of bytes that do not
 * form one (1 as Go counts: each bad byte is one). *out_rune gets the character or U+FFFD.
 */
int utf8_next(struct str text, uint32_t *out_rune);

/* `text` itself when it is valid, else a copy with U+FFFD for each bad byte. {NULL,0}: arena full. */
struct str utf8_repair(struct arena *arena, struct str text);

/* Writes 1 to 4 bytes. Returns their count. */
size_t utf8_put(char *to, uint32_t rune);
