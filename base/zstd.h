/*
 * zstd for what we keep on disk, and for what senders compress with it.
 *
 * Shape    what we write are frames with their content size and a checksum. One
 *          compression and one decompression context per thread, reused.
 * Errors   zstd_unpack(): ERROR_CORRUPT for damaged frames and for a content size over
 *          limit_bytes. zstd_inflate(): ERROR_INVALID for what is no zstd, is damaged or
 *          cut; ERROR_TOO_LARGE past limit_bytes (work stops there). Both: arena_error()
 *          when the arena is full.
 * Threads  any.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

/* Appends a frame with `bytes` at `level` (1 fast ... 19 small). */
void zstd_pack(struct str bytes, int level, struct strbuf *out);

int zstd_unpack(struct str frame, size_t limit_bytes, struct arena *arena, struct str *out,
                struct error *err);

/*
 * Inflates all frames of `bytes` into the arena, at most limit_bytes, whether they say
 * their size or not. A buffer that was too small is tried again with twice the size, so
 * that a lie costs at most the work of the limit twice over. The buffer is the window:
 * nothing else is taken, whatever window a frame asks for.
 */
int zstd_inflate(struct str bytes, size_t limit_bytes, struct arena *arena, struct str *out,
                 struct error *err);
