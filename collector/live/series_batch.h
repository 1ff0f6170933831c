/*
 * Profiles on their way into a sink: series with their labels and rows, in pushes that are
 * not too large.
 *
 * Shape    add each series, flush. A push has SERIES_BATCH_BYTES at most: what does not
 *          fit any more goes first. A series of many stacks is several profiles with the
 *          same labels.
 * Units    nanoseconds, bytes.
 * Errors   none: a profile that does not fit any push is counted.
 * Threads  none: the collector's.
 * Source   collector specification 3.2, 6.4
 */
#pragma once

#include "collector/live/gpu_process.h"
#include "collector/live/stack_profile.h"
#include "profile/profile_sink.h"

#define SERIES_BATCH_BYTES ((size_t)32 << 20) /* of profiles in one push */

struct series_batch_options {
	const char *service_suffix; /* "-gpu" */
	const char *hostname;
	const char *cluster;
	bool has_pid_label;
	struct profile_sink sink;
};

/* Which labels a series has. */
enum series_scope {
	SERIES_OF_PROCESS,
	SERIES_OF_OTHERS, /* as other collectors have it: who it is, no suffix, pid, class, GPU */
};

/*
 * Gives one stack and its values and moves *cursor on; false when there are no more.
 * `rows` is what the series says.
 */
typedef bool (*series_rows)(const void *rows, size_t *cursor, uint32_t *out_stack,
                            int64_t *out_values);

struct series {
	const struct stack_profile_kind *kind;
	struct stack_profile_time time;
	enum series_scope scope;
	const struct gpu_process *process; /* NULL: the machine's own */
	const char *service_name;          /* NULL: that of the process */
	/* labels; NULL: it has none */
	const char *gpu;
	const char *cuda_class;
	const char *cuda_error;
	const char *reason;
	const char *recovered;
	const char *state;
	/* NULL: there are none, and that is to be told */
	series_rows next;
	const void *rows;
};

struct series_batch;

/* The table outlives it; options are copied, their texts are not. */
struct series_batch *series_batch_new(const struct series_batch_options *options,
                                      const struct stack_table *stacks)
	__attribute__((returns_nonnull));
void series_batch_free(struct series_batch *batch);
DEFINE_FREEP(series_batch)

void series_batch_add(struct series_batch *batch, const struct series *series);

/* Pushes what there is. Until then nothing that a series refers to may change. */
void series_batch_flush(struct series_batch *batch);

/* Profiles that did not fit any push; it should stay 0. */
uint64_t series_batch_dropped(const struct series_batch *batch);
