/*
 * Where in a driver library the probed functions begin.
 *
 * Shape    those that have probes in all processes, or those that have them in processes with
 *          several devices only (cuda_function.h). Each place once: when several names share it, the first line of
 *          cuda_functions.def has it. Only names that the file defines in .dynsym, and only
 *          places in executable segments.
 * Units    offsets in the file.
 * Errors   ERROR_INVALID: not an ELF file of this architecture.
 * Threads  none.
 * Source   collector specification 2.1
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/cuda_function.h"

struct probe_point {
	uint64_t offset;
	enum cuda_function_id function;
	uint64_t code_start; /* of the segment it is in */
	uint64_t code_end;
};

struct probe_points {
	struct probe_point points[CUDA_FUNCTION_COUNT];
	size_t count;
	size_t aliases; /* names whose place another name has */
	size_t missing; /* names that this library does not have */
};

enum probe_scope {
	PROBE_SCOPE_ALL,     /* processes */
	PROBE_SCOPE_SEVERAL, /* devices */
};

/* Looks into the open file; every page with a point in it is in the page cache then. */
int probe_points_find(int descriptor, enum probe_scope scope, struct probe_points *out,
                      struct error *err);
