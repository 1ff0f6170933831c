/*
 * Text of a process as UTF-8 that is fit to be shown.
 *
 * Shape    what is no character (a lone surrogate, a number past U+10FFFF, a bad byte) and
 *          what is a control character becomes U+FFFD; what was cut ends with an ellipsis,
 *          on a character's boundary. The same text gives the same bytes, whatever is known
 *          of its process.
 * Units    bytes.
 * Threads  any.
 * Source   unwinding specification 3.3, 5.2
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collector/cuda_event.h"

/* What `capacity` bytes of text may come to: three bytes for each, and an ellipsis. */
#define PYTHON_TEXT_MAX(capacity) (3 * (capacity) + 3)

/*
 * Writes the text of a code_string, of which at most `capacity` bytes were sent in `bytes`, to
 * `to` (of PYTHON_TEXT_MAX(capacity)). Returns its length, without a NUL.
 */
size_t python_text_put(const struct code_string *head, const uint8_t *bytes, size_t capacity,
                       char *to);
