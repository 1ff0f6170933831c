/*
 * A consistent copy of one database of a store, while it may be written.
 *
 * Shape    one read transaction, so that the copy is what was committed when it began; the
 *          writer is not held up, its log waits until the copy is made. A file that another
 *          one took the place of is opened anew.
 * Errors   ERROR_NOT_FOUND for a file that is gone, or has no tables yet.
 * Threads  none.
 */
#pragma once

#include "storage/care/file_bytes.h"
#include "storage/care/store_listing.h"

/* `from` lies in a store's folder; `to` is not there yet, and synced when it is whole. */
int window_copy(const char *from, enum listed_kind kind, const char *to,
                const struct file_bytes_progress *progress, struct error *err);
