/*
 * Points per step and cells: what SelectSeries, SelectHeatmap and /pyroscope/render ask
 * alike.
 *
 * Shape    a query whose range was extended by a step, run over every profile that
 *          matches.
 * Errors   as server/query/read_query.h.
 * Source   read specification, 3.12 and 3.13; collector specification, 3.4
 */
#pragma once

#include "profile/heatmap.h"
#include "profile/time_series.h"
#include "server/query/read_query.h"

/* How a series' points are made of its profiles. */
enum series_aggregation {
	SERIES_AGGREGATION_UNSAID, /* gauges: the mean over their sources' ticks */
	SERIES_AGGREGATION_SUM,
	SERIES_AGGREGATION_AVERAGE,
};

/*
 * A step in seconds as whole milliseconds; 0 for one that is no number or past the scale:
 * then every answer is empty. False: below a millisecond.
 */
bool series_step_ms(double step_s, int64_t *out);

/*
 * step_ms, group_by, limit and exemplars are taken from *options; the rest is the
 * query's.
 */
int read_query_run_series(struct read_query *query, const struct time_series_options *options,
                          enum series_aggregation aggregation, struct time_series_result *out,
                          struct error *err);

/* What a heat map's points are. */
enum heatmap_source {
	HEATMAP_PROFILES,
	HEATMAP_SPANS,
};

int read_query_run_heatmap(struct read_query *query, const struct heatmap_options *options,
                           enum heatmap_source source, struct heatmap_result *out,
                           struct error *err);
