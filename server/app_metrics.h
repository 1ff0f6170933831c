/*
 * The metric families of server/metrics.def by name.
 *
 * Shape    app_metrics_new() makes them all in a registry; app_metrics_collect() sets
 *          those whose numbers are kept elsewhere.
 * Threads  any.
 * Source   read specification, 5.4
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/metrics.h"

struct app;

struct app_metrics {
#define METRIC(field, name, type, bounds, help, ...) struct metric_family *field;
#include "server/metrics.def"
#undef METRIC
};

/* What the listener and the worker pool cost now. */
struct server_gauge {
	size_t connections;
	size_t queue_length;
	size_t workers_busy;
};

struct app_metrics *app_metrics_new(struct metrics *registry) __attribute__((returns_nonnull));
void app_metrics_free(struct app_metrics *metrics);
DEFINE_FREEP(app_metrics)

/* The metric of these label values, in the order of the table. */
#define METRIC_OF(family, ...) metric_family_get((family), (const struct str[]){ __VA_ARGS__ })

/* Sets what is asked from its owner: store, memory, process, listener. */
void app_metrics_collect(struct app *app);

/* docs/metrics.md */
void app_metrics_print_docs(struct strbuf *out);
