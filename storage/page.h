/*
 * The envelope of every BLOB that we write: how it is packed, and a check of its bytes.
 *
 * Shape    one byte packing, then the payload as one zstd frame (which has its own
 *          check), or four bytes check and the payload as it is.
 * Errors   ERROR_CORRUPT for anything that page_seal() did not write; ERROR_UNAVAILABLE
 *          when the arena is full.
 * Threads  any.
 * Source   docs/formats/store.md, "Bodies"
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

#define PAGE_RAW_MAX ((size_t)512 << 20) /* bytes of a payload */

/* Appends the envelope of `raw`, packed when that is shorter. */
void page_seal(struct str raw, int level, struct strbuf *out);

/* The payload: a view into `body`, or unpacked into the arena. */
int page_open(struct str body, struct arena *arena, struct str *out_raw, struct error *err);
