/*
 * What one profile uses of a request's dictionary, as the tables of a struct profile.
 *
 * Shape    otlp_symbols_init() once a dictionary, otlp_symbols_begin() for each profile that
 *          is made from it. An entry comes into the profile's tables when it is first asked
 *          for, and keeps its place there: what a profile does not use costs it nothing.
 *          Stacks that are used twice are one run of frames.
 * Errors   ERROR_INVALID for malformed entries and indices outside of their tables;
 *          ERROR_TOO_LARGE when profiles use the same entries so often that the request
 *          would cost more than formats/otlp_work.h lets it; arena_error().
 * Threads  none.
 * Source   ingest specification, 5.4 (6 to 9)
 */
#pragma once

#include "base/wire.h"
#include "formats/otlp_dictionary.h"
#include "profile/profile.h"

/* Where the entries of a table stand in the profile. */
struct otlp_places {
	uint32_t *numbers; /* by entry: place + base; below base: not there */
	uint32_t base;
	uint32_t next;
};

/* A run of frames in profile->stacks. */
struct otlp_run {
	uint32_t first_frame;
	uint32_t depth;
	uint32_t encoded_bytes; /* of its frames in pprof */
};

struct otlp_symbols {
	const struct otlp_layout *layout;
	const struct otlp_dictionary *dictionary;
	struct arena *arena;
	size_t profile_bytes; /* of all profiles that take from the dictionary, as sent */
	size_t max_depth;     /* deeper stacks lose their leaves; 0: none does */

	struct otlp_places places[OTLP_TABLE_COUNT];
	struct profile *profile;
	size_t encoded_bytes; /* what the tables need in pprof, to a few bytes */
	size_t frame_bytes;   /* what the frames of profile->stacks need there, once */

	size_t string_capacity;
	size_t mapping_capacity;
	size_t function_capacity;
	size_t line_capacity;
	size_t location_capacity;
	size_t frame_capacity;
	struct otlp_run *runs;
	size_t run_count;
	size_t run_capacity;
};

/*
 * `symbols` has layout, dictionary, arena, profile_bytes and max_depth set and is zero
 * otherwise.
 */
int otlp_symbols_init(struct otlp_symbols *symbols, struct error *err);

/*
 * `profile` is empty; string 0 is made here. It gets room for its share of the dictionary,
 * by the bytes that it was sent as: of a profile that is split, by those of its samples.
 */
int otlp_symbols_begin(struct otlp_symbols *symbols, struct profile *profile, size_t sent_bytes,
                       struct error *err);

/* Each gives the index in the profile of an entry of the dictionary. */
int otlp_symbols_string(struct otlp_symbols *symbols, uint64_t index, uint32_t *out,
                        struct error *err);
int otlp_symbols_function(struct otlp_symbols *symbols, uint64_t index, uint32_t *out,
                          struct error *err);
int otlp_symbols_location(struct otlp_symbols *symbols, uint64_t index, uint32_t *out,
                          struct error *err); /* otlp_locations.c */

/* A string that is none of the dictionary's; empty is 0. */
int otlp_symbols_text(struct otlp_symbols *symbols, struct str text, uint32_t *out,
                      struct error *err);

int otlp_symbols_stack(struct otlp_symbols *symbols, uint64_t index, struct otlp_run *out,
                       struct error *err);

/* Appends frames to profile->stacks: layouts without a table of stacks. */
int otlp_symbols_frames(struct otlp_symbols *symbols, const struct wire_field *field,
                        struct error *err);

/* The place of an entry that came before; false when it did not, or when there is none. */
static inline bool otlp_symbols_find(const struct otlp_symbols *symbols, enum otlp_table table,
                                     uint64_t index, uint32_t *out)
{
	const struct otlp_places *places = &symbols->places[table];

	if (index >= symbols->dictionary->tables[table].count ||
	    places->numbers[index] < places->base)
		return false;
	*out = places->numbers[index] - places->base;
	return true;
}

/* The same for an index inside of the table. */
static inline bool otlp_place_find(const struct otlp_places *places, uint64_t index, uint32_t *out)
{
	if (places->numbers[index] < places->base)
		return false;
	*out = places->numbers[index] - places->base;
	return true;
}

static inline void otlp_place_set(struct otlp_places *places, uint64_t index, uint32_t place)
{
	places->numbers[index] = places->base + place;
	if (places->numbers[index] >= places->next)
		places->next = places->numbers[index] + 1;
}
