/*
 * The bytes of a pprof as senders pack them: plain or gzip.
 *
 * Shape    told by the first two bytes. A plain profile stays where it is.
 * Units    at most limit_bytes after decompression; 0: PPROF_BYTES_MAX.
 * Errors   ERROR_INVALID for what is too short or damaged, ERROR_TOO_LARGE past the
 *          limit, arena_error() when the arena is full.
 * Threads  none.
 * Source   ingest specification, 1.5 and 2.1
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

int pprof_bytes_unpack(struct str raw, size_t limit_bytes, struct arena *arena, struct str *out,
                       struct error *err);
