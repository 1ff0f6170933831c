/*
 * gzip, both ways: what senders compress and what readers accept compressed.
 *
 * Shape    several members back to back are one stream; bytes behind the last member
 *          are an error. Whole bodies go through libdeflate into one buffer; the size
 *          that the stream declares is a hint, the limit holds whatever it says.
 * Errors   ERROR_INVALID for what is no gzip, is damaged or cut; ERROR_TOO_LARGE past
 *          limit_bytes (work stops there); arena_error() when the arena is full.
 * Threads  any: one libdeflate context per thread, made when first needed.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

/* Whether the bytes begin as gzip does: 1f 8b. */
static inline bool gzip_is(struct str bytes)
{
	return bytes.length >= 2 && (unsigned char)bytes.data[0] == 0x1f &&
	       (unsigned char)bytes.data[1] == 0x8b;
}

/*
 * Inflates all of `bytes` into the arena, at most limit_bytes. A buffer that was too
 * small is tried again with twice the size, so that damage costs at most the work of
 * the limit twice over.
 */
int gzip_inflate(struct str bytes, size_t limit_bytes, struct arena *arena, struct str *out,
                 struct error *err);

/* Appends `bytes` as one gzip member (level 1: answers are made while somebody waits). */
void gzip_deflate(struct str bytes, struct strbuf *out);

/* The same as small as can be, for what is packed once and sent often. */
void gzip_deflate_once(struct str bytes, struct strbuf *out);
