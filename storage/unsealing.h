/*
 * Makes of a sealed window one that can be changed, since something of it is to be deleted: a
 * copy that is not sealed takes its place, and is sealed in its turn.
 *
 * Errors   as storage/database.h; ERROR_NOT_FOUND when the window is not in the set any more.
 * Threads  any, but one at a time for a window; the copy is made on the caller's.
 */
#pragma once

#include "storage/writer.h"

/*
 * *out is the window that has taken the place of `window`: held, and reserved (storage/
 * window_set.h). Ids of series and groups are the same.
 */
int unsealing_run(struct window_set *set, struct writer *writer, struct window *window,
                  struct window **out, struct error *err);
