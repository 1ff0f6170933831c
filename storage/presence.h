/*
 * Whether a group of a window has a profile in a range: memory says it mostly, else the
 * file is looked into, and memory learns from that.
 *
 * Shape    in a query's visit of the window. The first look at a group tells when its
 *          profiles begin and end, for all groups that share blocks with it; only a range
 *          that lies inside of that takes another look, into rows, and into the heads of
 *          blocks that the range cuts.
 * Errors   as storage/reader.h.
 * Threads  the caller's; what is learnt is shared (storage/group_times.h).
 */
#pragma once

#include "storage/query.h"

/* query->scratch is used, and reset. */
int presence_find(struct query *query, struct query_window *window, const struct reader_run *run,
                  bool *out, struct error *err);
