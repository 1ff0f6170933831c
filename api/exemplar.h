/*
 * types.v1.Exemplar and lists of types.v1.LabelPair, in both codecs.
 *
 * Source   read specification, 3.1
 */
#pragma once

#include "base/json.h"
#include "base/strbuf.h"
#include "profile/heatmap.h"
#include "profile/time_series.h"

/*
 * An exemplar's ids as text: of a profile, or of a span and its trace. Empty: not there.
 */
struct exemplar {
	int64_t time_ms;
	int64_t value;
	const struct label_set *labels;
	char profile_id[UUID_TEXT_LENGTH + 1];
	char span_id[2 * sizeof(uint64_t) + 1];
	char trace_id[2 * TRACE_ID_SIZE + 1];
};

void exemplar_of_profile(const struct time_series_exemplar *from, struct exemplar *out);
void exemplar_of_cell(const struct heatmap_exemplar *from, struct exemplar *out);

/* As field 4, which both points and slots have. */
void exemplar_put_proto(const struct exemplar *exemplar, struct strbuf *out);
void exemplar_put_json(const struct exemplar *exemplar, struct json_writer *writer);

/* Each label as a message of that field. */
void labels_put_proto(const struct label_set *labels, uint32_t field, struct strbuf *out);

/* "labels":[...]; nothing when there are none. */
void labels_put_json(const struct label_set *labels, struct json_writer *writer);
