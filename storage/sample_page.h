/*
 * The samples of one stored profile: stack ids, values of each series, spans and traces.
 *
 * Shape    columns of one row each, in ascending order of stack ids. Every column knows
 *          its length, so that one is read without the others. A series whose values are
 *          a constant multiple of an earlier one's stores the factor.
 * Errors   ERROR_CORRUPT for bytes that sample_page_encode() did not write; arena_error()
 *          when the arena is full.
 * Threads  none.
 * Source   docs/formats/store.md, "Sample bodies"
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "profile/series_profile.h"

#define SAMPLE_SERIES_MAX \
	4096 /* series that share rows; a pprof with that many sample types is none */

/* What is encoded. Columns are in the order of the rows; `order` sorts them. */
struct sample_columns {
	size_t row_count;
	size_t series_count;
	const uint32_t *stacks;
	const int64_t *const *values;              /* a column each series */
	const uint64_t *span_ids;                  /* or NULL */
	const uint8_t (*trace_ids)[TRACE_ID_SIZE]; /* or NULL */
};

/* Appends the payload. Rows come in any order. */
void sample_page_encode(const struct sample_columns *columns, struct strbuf *out);

struct sample_page {
	uint32_t row_count;
	uint32_t series_count;
	const uint32_t *stacks; /* ascending */
	struct str *columns;    /* of the series, not decoded */
	struct str spans;       /* not decoded; NULL data: no row has one */
	struct str traces;
};

/* Reads heads and stack ids. Everything lives in the arena or in `payload`. */
int sample_page_decode(struct str payload, struct arena *arena, struct sample_page *out,
                       struct error *err);

/* The values of one series, a row each. */
int sample_page_values(const struct sample_page *page, uint32_t series, struct arena *arena,
                       int64_t **out, struct error *err);

/* Span ids (0: none) and trace ids (zero: none), a row each; NULL when no row has one. */
int sample_page_spans(const struct sample_page *page, struct arena *arena, uint64_t **out,
                      struct error *err);
int sample_page_traces(const struct sample_page *page, struct arena *arena,
                       uint8_t (**out)[TRACE_ID_SIZE], struct error *err);
