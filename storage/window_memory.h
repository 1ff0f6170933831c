/*
 * What the windows of a set take of memory, and what is given back of it.
 *
 * Shape    counted window by window, in the set's budget. Tables and connections of windows
 *          that nobody holds go, the longest unused first, when there are too many or memory
 *          is short.
 * Threads  any, with the set's own lock.
 */
#pragma once

#include "storage/window_set.h"

/* Counts what a window's tables take now. False when the budget has no room for it. */
bool window_set_charge(struct window_set *set, struct window *window);

/* Whether the caches take more than their share of the budget. */
bool window_set_is_over(struct window_set *set);

/* Gives back what nobody uses: more than allowed, or not since before_mono_ns. */
void window_set_trim(struct window_set *set, int64_t before_mono_ns);

/* Counts them, after giving back what nobody uses where that is needed; else ERROR_UNAVAILABLE. */
int window_set_make_room(struct window_set *set, struct window *window, struct error *err);

/* Takes the bytes of a window out of all counts. With the set's lock held. */
void window_set_uncharge(struct window_set *set, struct window *window);

struct window_set_counts {
	size_t windows;
	size_t open;
	size_t cache_bytes;
	uint64_t damaged;
	size_t sealed; /* as far as that is known: who has not looked, does not know */
};
void window_set_count(struct window_set *set, struct window_set_counts *out);
