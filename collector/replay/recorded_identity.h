/*
 * Who a process is, in a recording.
 *
 *	name of its service   its own name   "label=value" NUL ...   ["?" NUL]
 *
 * Shape    both names take RECORDED_NAME_BYTES, filled with NULs; labels are those that
 *          profiles have, one that is not known is passed over. "?": it was late, and a
 *          record that comes later has the rest.
 * Units    bytes.
 * Errors   none: false when the bytes say no name.
 * Threads  none.
 * Source   docs/formats/recording.md
 */
#pragma once

#include "base/strbuf.h"
#include "collector/identity/process_identity.h"

#define RECORDED_NAME_BYTES   256
#define RECORDED_NAMES_BYTES  (2 * RECORDED_NAME_BYTES)
#define RECORDED_IDENTITY_MAX ((size_t)8 << 10)

void recorded_identity_encode(const struct process_identity *identity, struct strbuf *out);

bool recorded_identity_decode(struct str bytes, struct process_identity *out);
