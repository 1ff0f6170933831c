/*
 * Which series of a window a selector means, by sets instead of one series at a time.
 *
 * Shape    a matcher names values of one label: some by their texts, which are looked up,
 *          others by a pattern, which each distinct value is held against once. What is
 *          left is a bitmap over the window's series; each matcher then takes from it,
 *          the one that leaves fewest first: either by the lists of its values, or by
 *          looking at the series that are left, whichever costs less.
 * Errors   ERROR_TOO_LARGE, ERROR_UNAVAILABLE: the arena's.
 * Threads  none: a view is a reader's own.
 * Source   profile/selector.h for what a matcher means
 */
#pragma once

#include "base/arena.h"
#include "profile/selector.h"
#include "storage/series_index.h"

/* Ids of series, ascending. */
struct series_ids {
	const uint32_t *ids;
	uint32_t count;
};

/* The series of the view that match; all of them for NULL. Everything is in `arena`. */
int series_match(const struct series_view *view, const struct selector *selector,
                 struct arena *arena, struct series_ids *out, struct error *err);
