/*
 * One text for Prometheus while it is made: families by their ids, and lines.
 *
 * Errors   none: the buffer's limit bounds the text.
 * Threads  none: the collector's.
 * Source   collector specification 1.2, 1.3; Prometheus text format 0.0.4
 */
#pragma once

#include "base/strbuf.h"
#include "collector/live/gpu_process.h"

enum gpu_metric_id {
#define GPU_METRIC(id, name, type, help, labels) GPU_METRIC_##id,
#include "collector/live/gpu_metrics.def"
#undef GPU_METRIC
	GPU_METRIC_COUNT,
};

struct metrics_text {
	struct gpu_process **processes; /* that are shown */
	size_t process_count;
	const char *cluster; /* a label of each process */
	struct strbuf *out;
};

const char *metrics_text_name(enum gpu_metric_id id);

/* The two lines in front of a family. */
void metrics_text_begin(const struct metrics_text *text, enum gpu_metric_id id);

/* A line with at most one label (NULL: none). */
void metrics_text_number(const struct metrics_text *text, enum gpu_metric_id id, const char *label,
                         const char *value, uint64_t number);

/* A family of one line without labels. */
void metrics_text_family(const struct metrics_text *text, enum gpu_metric_id id, uint64_t number);

/* name="value" */
void metrics_text_label(struct strbuf *out, const char *name, const char *value);

/* The labels of a process, without braces. Outside of Kubernetes its labels are empty. */
void metrics_text_process(const struct metrics_text *text, uint32_t tgid,
                          const struct process_identity *identity);

/* The rows of docs/metrics.md. */
void metrics_text_print_docs(struct strbuf *out);
