/*
 * GPU memory as a table of who held what at which tick, and the profiles that say so: a
 * naive model beside which process lists and timelines are held.
 *
 * Shape    two nodes, three processes, three classes, ticks of 15 s; nodes miss ticks and
 *          processes come and go by chance.
 */
#pragma once

#include <stdbool.h>

#include "base/clock.h"
#include "fake_store.h"

#define MODEL_TICKS       12
#define MODEL_PROCESSES   3
#define MODEL_CLASSES     3
#define MODEL_NODES       2
#define MODEL_INTERVAL_S  15
#define MODEL_START_S     INT64_C(1767225600)
#define MODEL_PROFILE_MAX (MODEL_TICKS * MODEL_PROCESSES * MODEL_CLASSES)

struct gpu_model {
	/* -1: no profile */
	int64_t bytes[MODEL_TICKS][MODEL_PROCESSES][MODEL_CLASSES];
	struct fake_profile profiles[MODEL_PROFILE_MAX];
	char labels[MODEL_PROFILE_MAX][160];
	size_t profile_count;
};

/* False when chance took so many ticks that the interval cannot be told any more. */
bool gpu_model_make(struct gpu_model *model, uint64_t *random);

/* The tick of a node that holds at a time (s), or -1 in a gap. */
int gpu_model_tick(const struct gpu_model *model, int node, int64_t at_s);

/* Bytes on the device at a time; -1 in a gap of its node. */
int64_t gpu_model_live(const struct gpu_model *model, int process, int64_t at_s);

/* Whether a process, or a node, has a profile at a tick. */
bool gpu_model_has_process(const struct gpu_model *model, int process, int tick);
bool gpu_model_has_node(const struct gpu_model *model, int node, int tick);

int gpu_model_node(int process);
