/*
 * Stacks with values, made into a profile.
 *
 * Shape    begin, add each stack, finish; again for the next profile. Strings, frames and
 *          modules stand once in a profile. Addresses are those of the files, so that
 *          names can be looked up later too.
 * Errors   stack_profile_add(), stack_profile_finish(): false when the arena is full.
 * Threads  none: the collector's.
 * Source   ingest specification 2.1; collector specification 3.2, 5
 */
#pragma once

#include "base/arena.h"
#include "base/id_map.h"
#include "collector/live/stack_table.h"
#include "profile/profile.h"

#define STACK_PROFILE_TYPES_MAX   4
#define STACK_PROFILE_SAMPLES_MAX 8000              /* half of what the pipeline takes */
#define STACK_PROFILE_BYTES_MAX   ((size_t)2 << 20) /* likewise, encoded; an estimate */

struct stack_profile_type {
	const char *type;
	const char *unit;
};

struct stack_profile_kind {
	const char *metric; /* __name__ */
	struct stack_profile_type types[STACK_PROFILE_TYPES_MAX];
	size_t type_count;
	struct stack_profile_type period; /* type NULL: none */
	int64_t period_value;
};

struct stack_profile_time {
	int64_t unix_ns;     /* of the end */
	int64_t duration_ns; /* 0: a moment */
};

/* Where a string or frame of the table stands in the profile that is being made. */
struct stack_profile_place {
	uint32_t profile; /* which one: others' places are void */
	uint32_t index;
};

struct stack_profile {
	const struct stack_table *table;
	const struct stack_profile_kind *kind;
	struct profile *profile; /* the one that is being made */
	uint32_t number;         /* of it */
	struct stack_profile_place *strings;
	struct stack_profile_place *frames;
	size_t string_places;
	size_t frame_places;
	struct id_map mappings; /* by module and build id */
	size_t estimate;        /* encoded bytes */

	/* capacities of the profile's arrays */
	size_t string_capacity;
	size_t location_capacity;
	size_t function_capacity;
	size_t line_capacity;
	size_t mapping_capacity;
	size_t stack_capacity;
	size_t sample_capacity;
	size_t value_capacity;
};

/* The table outlives it. */
void stack_profile_init(struct stack_profile *maker, const struct stack_table *table);
void stack_profile_fini(struct stack_profile *maker);

bool stack_profile_begin(struct stack_profile *maker, const struct stack_profile_kind *kind,
                         struct stack_profile_time time, struct arena *arena);

/* One value for each of the kind's types. */
bool stack_profile_add(struct stack_profile *maker, uint32_t stack, const int64_t *values);

/* Whether another stack should go into another profile. */
bool stack_profile_is_full(const struct stack_profile *maker);

/* The profile, in the arena. */
const struct profile *stack_profile_finish(struct stack_profile *maker);
