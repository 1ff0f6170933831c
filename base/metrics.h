/*
 * Counters, gauges and histograms with labels, and their Prometheus text.
 *
 * Shape    a registry holds families (name, help, type, label names); a family holds a
 *          metric per set of label values. Families are made once, at start, from one
 *          table (server/metrics.def); metrics are found by their label values and kept.
 *          A family holds at most its `max` metrics; past it new label values count
 *          under the values "other".
 * Units    as the name says: _seconds, _bytes, _total.
 * Threads  any: updates are atomic with relaxed order, look-ups take a lock (keep the
 *          pointer where it is hot).
 * Source   Prometheus text format 0.0.4
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

enum metric_type {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM,
};

/* What metrics_format() writes. */
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

#define METRIC_LABELS_MAX 6

struct metric_family_options {
	const char *name;
	const char *help;
	enum metric_type type;
	const char *label_names[METRIC_LABELS_MAX]; /* NULL behind the last */
	const double *bounds; /* histograms: upper bounds, ascending, without +Inf */
	size_t bound_count;
	size_t max; /* metrics; 0: 1000 */
};

struct metrics;
struct metric_family;
struct metric;

struct metrics *metrics_new(void) __attribute__((returns_nonnull));
void metrics_free(struct metrics *metrics);
DEFINE_FREEP(metrics)

struct metric_family *metrics_add(struct metrics *metrics,
                                  const struct metric_family_options *options);

/* The metric with these label values: one for each name, NULL for a family without. */
struct metric *metric_family_get(struct metric_family *family, const struct str *label_values);

void metric_add(struct metric *metric, double amount);    /* counters and gauges */
void metric_set(struct metric *metric, double value);     /* gauges, and counters kept elsewhere */
void metric_observe(struct metric *metric, double value); /* histograms */
double metric_value(const struct metric *metric);         /* of a histogram: its count */

/* All families in the order of their making, as Prometheus text. */
void metrics_format(struct metrics *metrics, struct strbuf *out);

/* Appends the value of a label as it stands between quotes; for texts made elsewhere. */
void metrics_put_escaped(struct strbuf *out, struct str value);
