/*
 * The collector's numbers as Prometheus text.
 *
 * Shape    counts events as they go by; the rest is asked for when a text is made. A
 *          process that has ended is in it until it is forgotten, unless its id is used
 *          again: no two series have the same labels.
 * Units    bytes, seconds.
 * Errors   none; the buffer's limit bounds the text.
 * Threads  none: the collector's. The text may go anywhere.
 * Source   collector specification 1.2, 1.3, 3.5; Prometheus text format 0.0.4
 */
#pragma once

#include "base/strbuf.h"
#include "collector/live/device_books.h"
#include "collector/live/gpu_process.h"
#include "collector/live/stack_table.h"

/* A name and how often; names are the caller's. */
struct named_count {
	const char *name;
	uint64_t count;
};

/* What the parts that see events know of themselves. */
struct collector_health {
	bool is_up;
	uint64_t attached_libraries;
	uint64_t attached_probes;
	uint64_t context_processes;        /* of which it is seen which context is current */
	const struct named_count *dropped; /* by reason */
	size_t dropped_count;
	const struct named_count *attach_errors; /* by reason */
	size_t attach_error_count;
	const struct named_count *oom_reports; /* by outcome */
	size_t oom_report_count;
};

struct gpu_metrics_options {
	const char *cluster;
	const struct device_books *devices; /* NULL: devices are not asked */
};

struct gpu_metrics;

/* The texts of the options outlive it. */
struct gpu_metrics *gpu_metrics_new(const struct gpu_metrics_options *options)
	__attribute__((returns_nonnull));
void gpu_metrics_free(struct gpu_metrics *metrics);
DEFINE_FREEP(gpu_metrics)

void gpu_metrics_count(struct gpu_metrics *metrics, const struct cuda_event *event);

void gpu_metrics_format(const struct gpu_metrics *metrics, struct gpu_process_table *processes,
                        const struct stack_table *stacks, const struct collector_health *health,
                        struct strbuf *out);

/* What there is to say where nothing is watched. */
void gpu_metrics_format_down(struct strbuf *out);

/* What became of the profiles that were handed on, and what still waits. */
struct push_health {
	const struct named_count *outcomes;
	size_t outcome_count;
	const struct named_count *drops; /* by reason */
	size_t drop_count;
	uint64_t waiting_in_memory;
	uint64_t waiting_in_spool;
	uint64_t waiting_bytes; /* of both */
	uint64_t oldest_age_s;
	uint64_t spool_bytes;
	bool has_spool;
	bool is_spooling;
};

void gpu_metrics_format_pushes(const struct push_health *health, struct strbuf *out);

struct identifier_counts; /* collector/identity/identifier.h */

/* What the watch on pods has seen; nothing where there is none. */
void gpu_metrics_format_pods(const struct identifier_counts *counts, struct strbuf *out);

/* The rows of docs/metrics.md. */
void gpu_metrics_print_docs(struct strbuf *out);
