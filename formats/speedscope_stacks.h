/*
 * The stacks of a speedscope profile: its samples with their weights, or its events.
 *
 * Shape    lists that belong together are read one behind the other into the same target:
 *          events go on where the last list ended.
 * Errors   ERROR_INVALID for what is not the format, a frame or a weight out of range
 *          included; those of base/json_reader.h and of formats/profile_builder.h.
 * Threads  none.
 * Source   ingest specification, 3.9
 */
#pragma once

#include "base/json_reader.h"
#include "formats/profile_builder.h"

struct speedscope_frames {
	uint64_t key; /* of the builders that their names are pushed to */
	struct profile_builder_name *names;
	size_t count;
	size_t capacity;
};

struct speedscope_open_frame {
	size_t index;
	uint32_t id; /* the builder's */
};

struct speedscope_stacks {
	struct arena *arena;
	const struct speedscope_frames *frames;
	struct profile_builder *builder;
	double factor; /* a weight times this is a value */

	/* of events */
	struct speedscope_open_frame *open; /* the root first */
	size_t depth;
	size_t capacity;
	double last_at;
	bool has_event;
};

/* The values of `shared.frames`; `out` has its key set. */
int speedscope_frames_read(struct str list, struct arena *arena, struct speedscope_frames *out,
                           struct error *err);

int speedscope_stacks_add_samples(struct speedscope_stacks *stacks, struct str samples,
                                  struct str weights, struct error *err);
int speedscope_stacks_add_events(struct speedscope_stacks *stacks, struct str events,
                                 struct error *err);
