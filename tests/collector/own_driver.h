/*
 * Copies of the stub driver that belong to one test: other drivers may be in use on the same
 * machine, and get no probes from it.
 *
 * Errors   what must not fail in a test fails it.
 * Threads  none.
 */
#pragma once

#include <stddef.h>

#include "collector/watch/library_table.h"

/* Probes on such files alone. */
struct own_probes {
	struct library_attacher real;
	size_t attached;
	size_t refused;
};

/* An attacher that counts in `probes`, whose `real` one it asks. */
struct library_attacher own_probes_attacher(struct own_probes *probes);

/* Copies the stub driver to a path where nothing is; also in a process that runs exec next. */
void own_driver_copy(const char *to);

/* What makes a file one of ours: the time at which it was changed. */
void own_driver_mark(int file);
