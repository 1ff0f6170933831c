/*
 * A profile type: name:sample_type:sample_unit:period_type:period_unit.
 *
 * Shape    five views into the text that was parsed; parts may be empty. A sixth part is
 *          read and ignored.
 * Errors   ERROR_INVALID with the reference's words for another number of parts.
 * Source   read specification, 3.4.2; collector specification, 3.4 (which types are
 *          instant)
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

struct profile_type {
	struct str name;
	struct str sample_type;
	struct str sample_unit;
	struct str period_type;
	struct str period_unit;
};

int profile_type_parse(struct str id, struct profile_type *out, struct error *err);

/*
 * The five parts joined: the value of the label __profile_type__. {NULL, 0}: arena full.
 */
struct str profile_type_id(const struct profile_type *type, struct arena *arena);

/* How values of a type merge over time. */
enum profile_merge {
	PROFILE_MERGE_SUM,  /* deltas: CPU, allocations */
	PROFILE_MERGE_MEAN, /* gauges: averaged over the ticks of their source */
	PROFILE_MERGE_LAST, /* gauges: the newest tick of each source */
	PROFILE_MERGE_MAX,  /* gauges: the largest profile of each series */
};

/*
 * inuse_*, goroutine(s), live, everything of gpu_memory_peak and gpu_memory_device, and
 * device_* of gpu_memory_oom are instant.
 */
bool profile_type_is_instant(const struct profile_type *type);

/*
 * What `wanted` means for this type: SUM for a delta; under MEAN, MAX for gpu_memory_peak
 * and what devices had at an OOM.
 */
enum profile_merge profile_type_merge(const struct profile_type *type, enum profile_merge wanted);

/* "sum", "mean", "last", "max". */
bool profile_merge_parse(struct str text, enum profile_merge *out);
