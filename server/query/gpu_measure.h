/*
 * What the collector tells of GPU memory: one profile type a measure.
 *
 * Shape    types that other senders use too (memory) count only where a series says of
 *          which class of CUDA memory it is; those named gpu_memory are the collector's.
 * Threads  any.
 * Source   collector specification, 3.2 and 3.6
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "profile/label_set.h"

enum gpu_measure {
	GPU_LIVE_BYTES,   /* gauge */
	GPU_LIVE_BLOCKS,  /* gauge */
	GPU_ALLOC_BYTES,  /* of one interval */
	GPU_ALLOC_CALLS,  /* of one interval */
	GPU_FAILURES,     /* calls of one interval */
	GPU_PEAK_BYTES,   /* highest point of a process in some minutes */
	GPU_OOM_BYTES,    /* what a call that found no memory wanted */
	GPU_DEVICE_BYTES, /* of a device, used or not; gauge */
	GPU_DEVICE_USED,  /* of these, those that are used; gauge */
	GPU_SUSPENDED,    /* live bytes of a process that another one has suspended; gauge */
	GPU_MEASURE_COUNT,
};

#define GPU_MEASURE_BIT(measure) (1U << (measure))

/* Whether it is of a device, and of no process. */
bool gpu_measure_is_of_device(enum gpu_measure measure);

/* The profile type of a measure. */
struct str gpu_measure_type(enum gpu_measure measure);

/*
 * The measure of a series, or GPU_MEASURE_COUNT when it is about something else: without
 * a hostname, too.
 */
enum gpu_measure gpu_measure_of(const struct label_set *labels);

/*
 * Whether a series only says that its node was watched: no class of memory, no process,
 * and the collector's own service.
 */
bool gpu_is_heartbeat(const struct label_set *labels);

/*
 * Whether a label tells the series of one process apart: its other labels all of them
 * share.
 */
bool gpu_label_is_of_series(struct str name);

/*
 * Whether memory of a class lies on the device: pinned and registered memory is the
 * host's, and what a graph holds is not told apart.
 */
bool gpu_class_is_on_device(struct str memory_class);
