/*
 * Regular expressions as Prometheus has them: RE2, anchored at both ends.
 *
 * Shape    as ^(?s:PATTERN)$ over UTF-8; invalid UTF-8 in the text simply does not match
 *          a class. Linear in the text; memory of one pattern is bounded.
 * Errors   ERROR_INVALID with RE2's words for a bad pattern, ERROR_TOO_LARGE past
 *          REGEX_PATTERN_MAX.
 * Threads  a compiled regex may be used by many threads.
 */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REGEX_PATTERN_MAX 16384 /* bytes of a pattern; a guess */

struct regex;

int regex_compile(struct str pattern, struct regex **out_regex, struct error *err);
bool regex_matches(const struct regex *regex, struct str text);
void regex_free(struct regex *regex);

#ifdef __cplusplus
}
#endif

DEFINE_FREEP(regex)
