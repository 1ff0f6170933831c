/*
 * Builds a profile from stacks of frame names, for formats that know nothing else.
 *
 * Shape    one function and one location for each distinct frame, one sample for each
 *          distinct stack; values of equal stacks add up, in arithmetic modulo 2^64.
 *          Names are views that must outlive the profile, unless they are copied.
 * Errors   arena_error() when the arena is full; ERROR_TOO_LARGE past max_frames. Stacks
 *          past max_stacks are no error here: they are counted, not kept, and the pipeline
 *          refuses the profile.
 * Threads  none.
 * Source   ingest specification, 3.6
 *
 *	profile_builder_init(&builder, arena, &limits);
 *	for each stack {
 *		for each frame, root first
 *			profile_builder_push(&builder, name, err);
 *		profile_builder_add(&builder, value, err);
 *	}
 *	profile_builder_finish(&builder, &type, &input, err);
 */
#pragma once

#include "profile/intern.h"
#include "profile/pprof.h"

/* The run of a distinct stack in `stacks`. */
struct profile_builder_stack {
	uint32_t first_frame;
	uint32_t depth;
};

/* What one profile may have; 0: no limit of its own. */
struct profile_builder_limits {
	size_t max_stacks; /* different ones; the first above it ends the collecting */
	size_t max_depth;  /* deeper stacks lose their leaves, as the pipeline would have it */
	size_t max_frames; /* pushed, of all stacks, for bodies that say more than they weigh */
};

/* Whose the bytes of the names are. */
enum profile_builder_names {
	PROFILE_BUILDER_VIEWS,
	PROFILE_BUILDER_COPIES, /* the sender's buffer changes: a new name is copied */
};

/* A name that is pushed often is hashed once, however long it is. */
struct profile_builder_name {
	struct str text;
	struct hash128 hash;
};

struct profile_builder {
	struct arena *arena;
	uint64_t key; /* of the hashes; drawn for each builder, unless somebody sets it */
	struct profile_builder_limits limits;
	enum profile_builder_names names; /* views, unless somebody sets it */
	size_t pushed;                    /* frames */

	struct intern frame_ids;
	struct str *frames; /* by id */
	size_t frame_capacity;

	struct intern stack_ids;
	bool is_overfull;                     /* one of stack_ids is the stack that was not kept */
	struct profile_builder_stack *stacks; /* by id */
	uint64_t *values;                     /* by stack id */
	size_t stack_capacity;
	size_t value_capacity;

	uint32_t *path; /* frame ids of all distinct stacks, root first; the open one at the end */
	size_t path_length;
	size_t path_capacity;
	size_t open; /* where the open stack begins */
};

/* What the one sample type of the profile is. */
struct profile_builder_type {
	const char *type;
	const char *unit;
	const char *period_type; /* or NULL: none; then period is 0 */
	const char *period_unit;
	int64_t period;
	uint64_t scale; /* every value is multiplied by it */
};

void profile_builder_init(struct profile_builder *builder, struct arena *arena,
                          const struct profile_builder_limits *limits);

/* For builders that have that key. */
static inline struct profile_builder_name profile_builder_name(uint64_t key, struct str text)
{
	return (struct profile_builder_name){ text, hash128_str(key, text) };
}

/* The id of a frame, for those who push it often. */
int profile_builder_frame(struct profile_builder *builder, struct str name, uint32_t *out_id,
                          struct error *err);

/* The same for a name that was hashed before. */
int profile_builder_named_frame(struct profile_builder *builder,
                                const struct profile_builder_name *name, uint32_t *out_id,
                                struct error *err);

/*
 * Whether the open stack takes no further frame: it is as deep as it may be, or nothing is
 * kept any more. Whoever pushes a stack that he holds asks first, since frames that are not
 * taken do not count in max_frames: a loop over them would be bounded by nothing.
 */
bool profile_builder_is_full(const struct profile_builder *builder);

/* Appends a frame to the open stack; nothing happens when that is full. */
int profile_builder_push_frame(struct profile_builder *builder, uint32_t id, struct error *err);
int profile_builder_push(struct profile_builder *builder, struct str name, struct error *err);

/* Appends the frames of a path "root;...;leaf". One ';' at the end adds nothing. */
int profile_builder_push_path(struct profile_builder *builder, struct str path, struct error *err);

/* Closes the open stack (an empty one is legal) and adds `value` to what it has. */
int profile_builder_add(struct profile_builder *builder, uint64_t value, struct error *err);

bool profile_builder_is_empty(const struct profile_builder *builder);

/* False when a frame's name is not UTF-8. */
bool profile_builder_is_utf8(const struct profile_builder *builder);

/*
 * Makes the profile: one mapping, string 0 empty, stacks leaf first, no time.
 * encoded_bytes is what pprof would need, to a few bytes.
 */
int profile_builder_finish(const struct profile_builder *builder,
                           const struct profile_builder_type *type, struct pprof_input *out,
                           struct error *err);
