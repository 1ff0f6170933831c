/*
 * All processes that have a CUDA driver mapped now.
 *
 * Shape    a walk over /proc. A process that ends meanwhile is left out. The text of one
 *          process' maps is read up to PROCESS_SCAN_MAPS_MAX bytes.
 * Errors   ERROR_IO: there is no /proc.
 * Threads  any.
 * Source   collector specification 4.3
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "collector/watch/library_file.h"

#define PROCESS_SCAN_MAPS_MAX ((size_t)16 << 20)

struct process_scan_result {
	size_t processes;
	size_t unreadable; /* of them: maps that may not be read */
};

/* Calls visit for each executable mapping of a driver; its path is good until it returns. */
int process_scan(void (*visit)(void *context, const struct library_mapping *mapping), void *context,
                 struct process_scan_result *out, struct error *err);

/* The same for one process; ERROR_NOT_FOUND when it has ended, ERROR_FORBIDDEN. */
int process_scan_one(pid_t tgid,
                     void (*visit)(void *context, const struct library_mapping *mapping),
                     void *context, struct error *err);

/* The same for the text of one process' maps. */
void process_scan_maps(pid_t tgid, struct str maps,
                       void (*visit)(void *context, const struct library_mapping *mapping),
                       void *context);
