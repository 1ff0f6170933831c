/*
 * How values of a class lie in a chunk: what its fields come to when everything that is
 * not wanted is skipped.
 *
 * Shape    steps, each over at least a byte: so many numbers, so many bytes, a string, an
 *          array of values of another layout. Fields of classes that stand inside are
 *          steps like the rest. Reading gives the wanted fields, by name, as slots: a
 *          number (sign-extended when it is an int), a key, or the place of a string or an
 *          array. A wanted field that is missing, or something else than is wanted, stays
 *          0.
 * Units    at most JFR_STEPS_MAX steps a layout; arrays JFR_ARRAY_DEPTH_MAX deep. Making
 *          layouts looks at no more fields than the chunk has bytes, and 16 million.
 * Errors   ERROR_INVALID for classes that stand in each other without end or whose fields
 *          have classes that nobody describes, arena_error().
 * Threads  none.
 * Source   ingest specification, 3.8
 */
#pragma once

#include "formats/jfr_metadata.h"

#define JFR_STEPS_MAX       4096
#define JFR_ARRAY_DEPTH_MAX 8
#define JFR_INLINE_MAX      16 /* classes that stand in each other */
#define JFR_SLOTS_MAX       16

#define JFR_LAYOUT_NONE UINT32_MAX

#define JFR_SHORT_NUMBERS 4 /* of a stack's frame; more are longer than eight bytes */

enum jfr_wanted_kind {
	JFR_WANT_NUMBER,
	JFR_WANT_KEY,
	JFR_WANT_STRING,
	JFR_WANT_ARRAY,
};

/* A field that is wanted; its place in the list is its slot. */
struct jfr_wanted {
	const char *name;
	enum jfr_wanted_kind kind;
};

struct jfr_step {
	uint8_t kind;
	uint8_t slot;  /* or JFR_SLOTS_MAX: nobody wants it */
	uint8_t width; /* of a number, when it is not compressed */
	bool is_signed_int;
	uint32_t count;  /* numbers or bytes */
	uint32_t layout; /* of an array's values */
};

struct jfr_layout {
	uint32_t first_step;
	uint32_t step_count;
	uint32_t least_bytes; /* 0: values take nothing */
	uint32_t peek_count;  /* steps up to the last wanted one */
	uint32_t number_count;
};

struct jfr_layouts {
	struct arena *arena;
	const struct jfr_metadata *metadata;
	bool fixed;
	size_t looks_left; /* fields that may still be looked at */

	struct jfr_step *steps;
	size_t step_count;
	size_t step_capacity;
	struct jfr_layout *layouts;
	size_t layout_count;
	size_t layout_capacity;
	uint32_t *by_class; /* those without a wanted field; JFR_LAYOUT_NONE: not made yet */
	uint32_t key;       /* that of keys, or JFR_LAYOUT_NONE */
};

int jfr_layouts_init(struct jfr_layouts *layouts, const struct jfr_metadata *metadata,
                     const struct jfr_chunk *chunk, struct arena *arena, struct error *err);

/* The layout of a class' values, with slots for `count` wanted fields. */
int jfr_layout_make(struct jfr_layouts *layouts, uint32_t class, const struct jfr_wanted *wanted,
                    size_t count, uint32_t *out, struct error *err);

/* Reads the wanted fields of a value that was read whole before, and no more. */
void jfr_layout_peek(const struct jfr_layouts *layouts, uint32_t layout, struct jfr_reader reader,
                     const uint8_t *base, uint64_t *slots);

/* Reads a value. slots is NULL when it is only skipped. */
bool jfr_layout_read(const struct jfr_layouts *layouts, uint32_t layout, struct jfr_reader *reader,
                     const uint8_t *base, uint64_t *slots);

/* Whether values are compressed numbers and nothing else. */
static inline bool jfr_layout_is_numbers(const struct jfr_layouts *layouts, uint32_t layout)
{
	const struct jfr_layout *shape = &layouts->layouts[layout];

	return !layouts->fixed && shape->least_bytes == shape->number_count;
}

/*
 * Reads a value of such a layout from the next eight bytes, when they hold it whole: false
 * when they do not. Its numbers' lengths are looked up, not branched on.
 */
static inline bool jfr_layout_read_short(const struct jfr_layouts *layouts,
                                         const struct jfr_layout *shape, struct jfr_reader *reader,
                                         uint64_t *slots)
{
	uint64_t bytes;
	uint64_t ends; /* the top bits of bytes that end a number */

	const uint8_t *at = reader->at;

	if (shape->number_count > JFR_SHORT_NUMBERS || jfr_left(reader) < sizeof(bytes))
		return false;
	memcpy(&bytes, at, sizeof(bytes));
	ends = ~bytes & JFR_TOP_BITS;
	for (uint32_t i = 0; i < shape->step_count; i++) {
		const struct jfr_step *step = &layouts->steps[shape->first_step + i];

		for (uint32_t count = step->count; count > 0; count--) {
			const uint64_t kept = ends ^ (ends - 1); /* up to the end of this one */
			unsigned half;

			if (ends == 0)
				return false;
			half = (unsigned)(__builtin_ctzll(ends) + 1) / 2;
			if (step->slot != JFR_SLOTS_MAX) {
				const uint64_t number = jfr_join_groups(bytes & kept);

				slots[step->slot] = step->is_signed_int
				                            ? (uint64_t)(int32_t)(uint32_t)number
				                            : number;
			}
			at += half / 4;
			bytes = bytes >> half >> half; /* by 64 in two halves, at most */
			ends = ends >> half >> half;
		}
	}
	reader->at = at;
	return true;
}

/* jfr_layout_read() of such a layout, for what there are many of. */
static inline bool jfr_layout_read_numbers(const struct jfr_layouts *layouts, uint32_t layout,
                                           struct jfr_reader *reader, uint64_t *slots)
{
	const struct jfr_layout *shape = &layouts->layouts[layout];

	if (jfr_layout_read_short(layouts, shape, reader, slots))
		return true;
	for (uint32_t i = 0; i < shape->step_count; i++) {
		const struct jfr_step *step = &layouts->steps[shape->first_step + i];
		uint64_t number = 0;

		for (uint32_t count = step->count; count > 0; count--)
			if (!jfr_read_compressed(reader, &number))
				return false;
		if (step->slot != JFR_SLOTS_MAX)
			slots[step->slot] =
				step->is_signed_int ? (uint64_t)(int32_t)(uint32_t)number : number;
	}
	return true;
}
