/*
 * Which profiles and samples of the matching series: the selectors of querier.v1 beside
 * the label selector.
 *
 * Shape    lists, each ascending; an empty one does not filter. All must hold.
 * Errors   ERROR_INVALID for an id that is none ("invalid span id length: ...").
 * Threads  read-only after parsing.
 * Source   read specification, 3.7
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/uuid.h"
#include "profile/series_profile.h"

struct trace_id {
	uint8_t bytes[TRACE_ID_SIZE];
};

struct sample_filter {
	struct uuid *profile_ids;
	size_t profile_id_count;
	uint64_t *span_ids; /* 0 stands for no row */
	size_t span_id_count;
	struct trace_id *trace_ids;
	size_t trace_id_count;
	struct str *call_site; /* function names, root first */
	size_t call_site_count;
};

/* Each parses `count` texts into the filter. */
int sample_filter_add_profile_ids(struct sample_filter *filter, const struct str *texts,
                                  size_t count, struct arena *arena, struct error *err);
int sample_filter_add_span_ids(struct sample_filter *filter, const struct str *texts, size_t count,
                               struct arena *arena, struct error *err);
int sample_filter_add_trace_ids(struct sample_filter *filter, const struct str *texts, size_t count,
                                struct arena *arena, struct error *err);

/*
 * Whether a profile, or a row with this span (0: none) and trace (zeros: none), passes.
 */
bool sample_filter_has_profile(const struct sample_filter *filter, const struct uuid *id);
bool sample_filter_has_row(const struct sample_filter *filter, uint64_t span_id,
                           const uint8_t trace_id[TRACE_ID_SIZE]);

/* Whether rows must be looked at one by one. */
static inline bool sample_filter_needs_rows(const struct sample_filter *filter)
{
	return filter && (filter->span_id_count > 0 || filter->trace_id_count > 0);
}
