/*
 * Attributes of OTLP as label texts.
 *
 * Shape    an attribute's key and value stand in the message, or as indices of strings in
 *          the dictionary. The text of a value: a string itself, an integer in decimal,
 *          a list of just one of those that one; everything else has none and is empty.
 *          Nesting is looked at two deep, whatever a sender nests.
 * Errors   ERROR_INVALID for malformed bytes and indices outside of the table;
 *          ERROR_INVALID past OTLP_ATTRIBUTES_MAX; arena_error().
 * Threads  none.
 * Source   ingest specification, 5.2, 5.4 (10 to 12) and 11.3
 */
#pragma once

#include "formats/otlp_dictionary.h"
#include "profile/label_set.h"

#define OTLP_ATTRIBUTES_MAX \
	256 /* with a text, of a resource and its scope; exporters stop at 128 */

#define OTLP_SERVICE_NAME "service.name"

/* An entry of the dictionary's attribute table. */
int otlp_attribute_read(const struct otlp_dictionary *dictionary, struct str entry,
                        struct arena *arena, struct label *out, struct error *err);

/* The key alone of such an entry. */
int otlp_attribute_key(const struct otlp_dictionary *dictionary, struct str entry, struct str *out,
                       struct error *err);

/*
 * Attributes of a resource and a scope, each key once: the first counts. Keys are compared by
 * their hashes: many long ones may be alike but for their ends.
 */
struct otlp_attributes {
	uint64_t secret; /* of the hashes */
	uint64_t hashes[OTLP_ATTRIBUTES_MAX];
	struct label *labels;
	size_t count;
	size_t capacity;
};

/* Adds those of field `number` of a message, with a text, whose keys are new. */
int otlp_attributes_add(const struct otlp_dictionary *dictionary, struct str message,
                        uint32_t number, struct arena *arena, struct otlp_attributes *attributes,
                        struct error *err);

/* The text of a key, or an empty one. */
struct str otlp_attributes_find(const struct otlp_attributes *attributes, struct str key);
