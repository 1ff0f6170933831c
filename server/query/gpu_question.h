/*
 * A question about GPU memory: who asks, which series, which range; and its reads of the
 * store.
 *
 * Shape    the ticks of a node are those of all its processes: what is asked is read as
 *          GPU_WHOLE_NODES around a moment, where that matters, and as GPU_PROCESSES over
 *          a range; visitors tell what is asked by gpu_question_asks(). Totals of profiles
 *          only, never samples. What a read takes of the question's arena it gives back.
 * Units    milliseconds as the wire has them; nanoseconds towards the store.
 * Errors   as server/query/read_query.h.
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "base/clock.h"
#include "server/query/gpu_measure.h"
#include "server/query/read_query.h"

/*
 * How far before a range its ticks are looked for: two intervals of ten minutes. The
 * collector's is 15 s.
 */
#define GPU_TICK_SLACK_NS (INT64_C(1200) * NS_PER_S)

struct gpu_question {
	struct read_query query; /* context and range */
	struct selector asked;
};

void gpu_question_init(struct gpu_question *question, const struct read_query_context *context);
void gpu_question_fini(struct gpu_question *question);

int gpu_question_set_range(struct gpu_question *question, int64_t start_ms, int64_t end_ms,
                           struct error *err);

/* An empty text asks for everything. */
int gpu_question_set_selector(struct gpu_question *question, struct str text, struct error *err);

/* Whether a series is one of those that are asked for. */
bool gpu_question_asks(const struct gpu_question *question, const struct label_set *labels);

/* Whether another series of the process of this one may be asked for. */
bool gpu_question_asks_process(const struct gpu_question *question, const struct label_set *labels);

/* Whether a device is one of those that are asked for: by its node and itself. */
bool gpu_question_asks_device(const struct gpu_question *question, const struct label_set *labels);

/* Whether it asks for nodes wholly, whatever runs there. */
bool gpu_question_asks_nodes(const struct gpu_question *question);

/* Whether memory counts wherever it lies: the selector speaks of classes itself. */
bool gpu_question_names_class(const struct gpu_question *question);

enum gpu_scope {
	GPU_WHOLE_NODES, /* whatever runs on the nodes that are asked for */
	GPU_PROCESSES,   /* processes of which something may be asked for */
};

/* One read of the store. */
struct gpu_read {
	unsigned measures; /* bits */
	enum gpu_scope scope;
	struct store_range range;
	struct str pids; /* an expression that they match; empty: any */
};

/* Profiles in the range, and their series. */
int gpu_question_scan(const struct gpu_question *question, const struct gpu_read *read,
                      store_point_visitor visit, void *context, struct error *err);
int gpu_question_series(const struct gpu_question *question, const struct gpu_read *read,
                        store_series_visitor visit, void *context, struct error *err);
