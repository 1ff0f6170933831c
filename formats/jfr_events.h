/*
 * The events of a recording that profiles are made of.
 *
 * Shape    events are told by the names of their classes, fields by theirs; all others are
 *          skipped by their size. A setting named "event" says what the samples behind it
 *          are taken of ("itimer", "wall", ...), over the borders of chunks.
 * Errors   ERROR_INVALID for records whose sizes do not fit and events that are shorter
 *          than their types; those of jfr_stacks.h and jfr_samples.h.
 * Threads  none.
 * Source   ingest specification, 3.8
 */
#pragma once

#include "formats/jfr_samples.h"
#include "formats/jfr_stacks.h"

struct jfr_events {
	struct arena *arena;
	struct jfr_stacks *stacks;
	struct jfr_samples *samples;
	struct str recording; /* of the last setting; empty: none was seen */

	/* of the chunk that is being read, by class: how its events are read */
	const struct jfr_pools *pools;
	uint8_t *states; /* by entry of the thread states' pool: what its name means */
	uint8_t *kinds;
	uint32_t *layouts;
};

/* Reads the events of a chunk. */
int jfr_events_read(struct jfr_events *events, const struct jfr_chunk *chunk,
                    struct jfr_layouts *layouts, const struct jfr_pools *pools, struct error *err);
