/*
 * A library that a process has mapped, as an open file: in whatever mount namespace it is,
 * renamed or deleted.
 *
 * Shape    by its path below the root of the process, if that is still the file, else by the
 *          mapping itself.
 * Errors   ERROR_NOT_FOUND: the process has ended; ERROR_IO: it has not, and neither path nor
 *          mapping lead to the file; ERROR_FORBIDDEN; ERROR_INVALID: no regular file.
 * Threads  any.
 * Source   collector specification 4.3
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

struct library_mapping {
	pid_t tgid;
	uint64_t start;
	uint64_t end;
	uint64_t inode;  /* 0: not told */
	struct str path; /* as the process sees it */
};

/* Whether a path is that of a CUDA driver: its last part begins with "libcuda.so". */
bool library_file_is_driver(struct str path);

/* The descriptor is the caller's. */
int library_file_open(const struct library_mapping *mapping, int *out_descriptor,
                      struct error *err);
