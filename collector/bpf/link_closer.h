/*
 * Closes links of probes, which takes the kernel its time: a tenth of a second each.
 *
 * Shape    one thread, from the first link on, closes them in the order in which they come.
 * Errors   none: where there is no thread a link is closed at once.
 * Threads  any; link_closer_free() when nobody else uses it.
 * Source   collector specification 4.1
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct link_closer;
struct probe_link;

struct link_closer *link_closer_new(void) __attribute__((returns_nonnull));

/* Waits until all are closed. */
void link_closer_free(struct link_closer *closer);
DEFINE_FREEP(link_closer)

/* Takes the link. NULL is fine. */
void link_closer_take(struct link_closer *closer, struct probe_link *link);

/* How many are not closed yet. */
size_t link_closer_waiting(struct link_closer *closer);
