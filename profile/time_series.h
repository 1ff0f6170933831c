/*
 * Points per step: SelectSeries.
 *
 * Shape    profiles' totals go in, in any order; series of points come out, grouped,
 *          sorted by their sum descending (ties by labels) and cut to a limit. The grid
 *          starts at start_ms; a point stands at the right edge of its step. Profiles
 *          from one step before start_ms on belong to the first point; those behind the
 *          last edge that is not past end_ms are left out.
 * Units    milliseconds for the grid (what the wire has; profiles' times count in whole
 *          ones), nanoseconds for profiles.
 * Errors   arena_error(): points are few where profiles are few, however long the grid.
 * Threads  none.
 * Source   read specification, 3.12; collector specification, 3.4 (instant types)
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/uuid.h"
#include "profile/label_set.h"

enum time_series_mean {
	TIME_SERIES_SUM,     /* of all profiles in the step */
	TIME_SERIES_AVERAGE, /* sum / profiles: the request's AVERAGE */

	/*
	 * Gauges: the sum of all profiles of a source in the step over the distinct times at
	 * which the source has any there, then the sum over sources. A series that was
	 * there for a part of the step counts that part.
	 */
	TIME_SERIES_MEAN_TICKS,

	/* Peaks: per series the largest profile in the step, then the sum over series. */
	TIME_SERIES_MAX_SERIES,
};

struct time_series_options {
	int64_t start_ms;
	int64_t end_ms;
	int64_t step_ms;            /* >= 1 */
	const struct str *group_by; /* borrowed until the end */
	size_t group_by_count;
	enum time_series_mean mean;
	bool exemplars; /* the profile with the highest value of each point */
	int64_t limit;  /* series; <= 0: all */
};

struct time_series_exemplar {
	int64_t time_ms;
	struct uuid profile_id;
	int64_t value;
	struct label_set labels; /* without the group's */
};

struct time_series_point {
	int64_t time_ms;
	double value;
	const struct time_series_exemplar *exemplar; /* or NULL */
};

struct time_series_group {
	struct label_set labels;          /* in the order of group_by */
	struct time_series_point *points; /* ascending */
	size_t point_count;
	double sum;
};

struct time_series_result {
	struct time_series_group *groups;
	size_t count;
};

struct time_series;

int time_series_new(const struct time_series_options *options, struct arena *arena,
                    struct time_series **out, struct error *err);

/*
 * The group of a series: `number` is any number that tells series of this query apart,
 * `source` one that tells their sources apart; both are dense from 0. The labels' bytes
 * are copied.
 */
int time_series_add_series(struct time_series *series, uint32_t number, uint32_t source,
                           const struct label_set *labels, struct error *err);

/* One profile of a series that was added. */
int time_series_add(struct time_series *series, uint32_t number, int64_t time_unix_ns,
                    int64_t total, const struct uuid *id, struct error *err);

/*
 * A time at which a source has a profile of a series that was not added: it counts for
 * TIME_SERIES_MEAN_TICKS, and for nothing else.
 */
int time_series_add_tick(struct time_series *series, uint32_t source, int64_t time_unix_ns,
                         struct error *err);

/* The result, once. */
int time_series_finish(struct time_series *series, struct time_series_result *out,
                       struct error *err);
