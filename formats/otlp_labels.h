/*
 * What the samples of a profile are labelled with: attributes of the dictionary and links
 * to spans.
 *
 * Shape    an entry of the dictionary becomes a label of the profile when it is first used,
 *          its texts strings of the profile; then it is found by its place. Attributes
 *          without a text give no label, nor does service.name, which splits profiles.
 *          A link gives span_id and trace_id, in hex.
 * Errors   as otlp_symbols.h.
 * Threads  none.
 * Source   ingest specification, 5.4 (1 and 10)
 */
#pragma once

#include "formats/otlp_symbols.h"

struct otlp_labels {
	struct otlp_symbols *symbols;
	size_t max_labels; /* of a sample; what is past it is counted, not kept; 0: all are */

	struct profile_label *attributes; /* by place; value 0: none */
	size_t attribute_count;
	size_t attribute_capacity;
	struct profile_label *links; /* two a place: span and trace; value 0: none */
	size_t link_count;
	size_t link_capacity;
	size_t label_capacity; /* of profile->labels */
	uint32_t span_key;     /* strings, once they are there */
	uint32_t trace_key;

	size_t count; /* of the sample's labels, kept or not */
};

/* For a profile that otlp_symbols_begin() was told. */
void otlp_labels_begin(struct otlp_labels *labels, struct otlp_symbols *symbols, size_t max_labels);

/* Adds labels to the sample whose labels end profile->labels. */
int otlp_labels_add_attributes(struct otlp_labels *labels, const struct wire_field *indices,
                               struct error *err);
int otlp_labels_add_link(struct otlp_labels *labels, uint64_t index, struct error *err);
