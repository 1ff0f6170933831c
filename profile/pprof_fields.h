/*
 * The fields of a pprof message as they came, before its references are followed.
 *
 * Shape    the tables of input->profile are filled; indices of strings and ids of things
 *          stand where their indices belong. Ids of 31 bits are kept, longer ones got
 *          numbers of our own (equal ids equal ones).
 * Errors   false at malformed bytes or a full arena (which remembers that).
 * Threads  none.
 */
#pragma once

#include "profile/number_map.h"
#include "profile/pprof.h"
#include "profile/pprof_wire.h"

#define PPROF_LONG_IDS UINT32_C(0x80000000) /* short_id() of ids from here on */

struct pprof_field_counts {
	size_t fields[7]; /* of the message, by number: 1 sample types to 6 strings */
	size_t sample_bytes;
};

struct pprof_fields {
	struct arena *arena;
	const struct pprof_options *options;
	struct pprof_input *input;
	struct profile *profile;
	struct pprof_field_counts counts;

	uint32_t *location_ids;
	uint32_t *function_ids;
	uint32_t *mapping_ids;
	size_t line_capacity;
	size_t stack_capacity;
	size_t label_capacity;
	size_t value_capacity;

	size_t value_count;          /* of all kept samples */
	size_t values_of_first;      /* of the first sample */
	bool value_counts_differ;    /* between samples */
	uint64_t greatest_label_key; /* of labels that were left out */
	struct number_map long_ids;
};

/* `fields` has arena, options, input and profile set and is zero otherwise. */
bool pprof_fields_read(struct pprof_fields *fields, struct str bytes);

/* One field 2 of the message, in pprof_samples.c. */
bool pprof_read_sample(struct pprof_fields *fields, struct span in);

/* A string index as it came: what does not fit is out of every range. */
static inline uint32_t string_index(uint64_t number)
{
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* The number of a long id: the next free one above PPROF_LONG_IDS when it is new. */
uint32_t pprof_long_id(struct pprof_fields *fields, uint64_t id);

/* A number below 2^32 for each id, its own where it is short. */
static inline uint32_t short_id(struct pprof_fields *fields, uint64_t id)
{
	return id < PPROF_LONG_IDS ? (uint32_t)id : pprof_long_id(fields, id);
}

/* Room for `more` elements behind `count`. */
#define PPROF_ROOM(fields, array, count, more, capacity) \
	ARENA_RESERVE((fields)->arena, array, count, more, capacity)
