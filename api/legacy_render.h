/*
 * The JSON documents of /pyroscope/render and /pyroscope/render-diff, and their
 * timelines.
 *
 * Shape    a document is one flame graph with its units; a single one also has a
 *          timeline, and one more for each group when the query grouped.
 * Units    seconds in the document, milliseconds for points.
 * Errors   arena_error().
 * Source   read specification, 4.3 and 4.4
 */
#pragma once

#include "profile/flame_graph.h"
#include "profile/profile_type.h"
#include "profile/time_series.h"

/* The range and step of a document's timelines. */
struct legacy_grid {
	int64_t start_ms;
	int64_t end_ms;
	int64_t step_s;
};

struct legacy_timeline {
	int64_t start_s;
	int64_t step_s;
	uint64_t *samples;
	size_t count;
};

/* One group of a query with groupBy. */
struct legacy_group {
	struct str name;
	size_t rank; /* of its series in the answer */
	struct legacy_timeline timeline;
};

struct legacy_document {
	const struct flame_graph *graph;
	const struct profile_type *type;
	const struct legacy_timeline *timeline; /* NULL: null */
	const struct legacy_group *groups;      /* NULL: null */
	size_t group_count;
};

/* The step that a range's timelines have. */
int64_t legacy_timeline_step_s(int64_t start_ms, int64_t end_ms);

/* The timeline of a series, or one of zeros for NULL. */
int legacy_timeline_make(const struct legacy_grid *grid, const struct time_series_group *series,
                         struct arena *arena, struct legacy_timeline *out, struct error *err);

/*
 * A timeline for each series, named by its value of `label` ("*" without one), sorted by
 * name; of two with one name the later one stays. Never NULL.
 */
int legacy_groups_make(const struct legacy_grid *grid, const struct time_series_result *series,
                       struct str label, struct arena *arena, struct legacy_group **out,
                       size_t *out_count, struct error *err);

/* Appends the document and a newline. */
void legacy_document_write(const struct legacy_document *document, struct strbuf *out);
