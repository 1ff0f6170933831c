/*
 * Text of strangers, made fit for a label.
 *
 * Shape    UTF-8, at most LABEL_TEXT_BYTES of it, whole characters; bad bytes are U+FFFD,
 *          control characters blanks; none of those at the ends.
 * Units    bytes, without the NUL behind it.
 * Threads  none.
 * Source   collector specification 7, item 8: labels must stay valid UTF-8
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

#define LABEL_TEXT_BYTES 255

struct label_text {
	char text[LABEL_TEXT_BYTES + 1];
};

/* False when nothing is left; then *out is empty. */
bool label_text_set(struct label_text *out, struct str text);

static inline bool label_text_is_set(const struct label_text *label)
{
	return label->text[0] != '\0';
}
