/*
 * zstd for what we keep on disk.
 *
 * Shape    frames with their content size and a checksum. One compression and one
 *          decompression context per thread, reused.
 * Errors   zstd_unpack(): ERROR_CORRUPT for damaged frames and for a content size over
 *          limit_bytes; arena_error() when the arena is full.
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
