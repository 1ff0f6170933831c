/*
 * Probes of a probe_set, as a library_table and context_watches set them.
 *
 * Shape    a library without any of the functions is refused: it has the name of a driver,
 *          and is none.
 * Threads  none.
 */
#pragma once

#include "collector/bpf/probe_set.h"
#include "collector/watch/context_watches.h"
#include "collector/watch/library_table.h"

/* The set is borrowed: it lives longer than who uses the attacher. */
struct library_attacher library_probes(struct probe_set *set);

/* The same for context_watches. */
struct context_attacher library_context_probes(struct probe_set *set);
