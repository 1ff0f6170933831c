/*
 * The types of a chunk, as its metadata record describes them: what is read by them need
 * not be known before.
 *
 * Shape    classes with their fields in the order in which values are written. A field has
 *          a class by index; the value is a key of that class' constants, or stands there
 *          itself, and may be an array of either. Annotations, settings and regions are
 *          passed over. Of two classes with one id the last one counts. Names are views
 *          into the chunk where they are written as plain bytes.
 * Units    at most JFR_STRINGS_MAX strings, JFR_CLASSES_MAX classes, JFR_FIELDS_MAX fields,
 *          elements JFR_ELEMENT_DEPTH_MAX deep. The limits are some ten times what
 *          JDK 21 describes.
 * Errors   ERROR_INVALID for what is cut or does not fit together, ERROR_TOO_LARGE past a
 *          limit, arena_error().
 * Threads  none.
 * Source   ingest specification, 3.8
 */
#pragma once

#include "formats/jfr_chunk.h"
#include "profile/id_index.h"

#define JFR_STRINGS_MAX       65536
#define JFR_CLASSES_MAX       8192
#define JFR_FIELDS_MAX        65536
#define JFR_ELEMENT_DEPTH_MAX 32

struct jfr_field {
	struct str name;
	uint32_t class_id;
	uint32_t class; /* index, or PROFILE_NONE: described nowhere */
	bool is_pooled; /* a key instead of the value */
	bool is_array;
};

struct jfr_class {
	struct str name;
	uint32_t id;
	uint32_t first_field;
	uint32_t field_count;
};

struct jfr_metadata {
	struct jfr_class *classes;
	size_t class_count;
	struct jfr_field *fields;
	size_t field_count;
	struct id_index by_id;
};

int jfr_metadata_read(const struct jfr_chunk *chunk, struct arena *arena, struct jfr_metadata *out,
                      struct error *err);

/* The index of the class with `id`, or PROFILE_NONE. */
static inline uint32_t jfr_metadata_find(const struct jfr_metadata *metadata, uint64_t id)
{
	return id >= PROFILE_NONE ? PROFILE_NONE : id_index_find(&metadata->by_id, (uint32_t)id);
}
