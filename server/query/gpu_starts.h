/*
 * Since when processes are there: their first ticks, however far before a range.
 *
 * Shape    days (UTC) before the range are asked for their series only, until a process
 *          is missing for a whole one; then hours of the last day that has it, then the
 *          profiles of that hour. So a process of weeks costs a look-up a day, and a pid
 *          that a host lends again to the same service within a day is one process. Only
 *          processes that may be asked for are read, of few only their own.
 * Errors   the store's; arena_error().
 * Threads  none.
 * Source   own API specification (id: hostname:pid:first_ms)
 */
#pragma once

#include "server/query/gpu_roster.h"

/* Moves first_ns of the `wanted` processes back to their first ticks before `before_ns`. */
int gpu_starts_find(struct gpu_roster *roster, const uint32_t *wanted, size_t wanted_count,
                    int64_t before_ns, struct error *err);
