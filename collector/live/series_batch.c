#include "collector/live/series_batch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"

#define LABELS_MAX (13 + IDENTITY_LABEL_COUNT)

struct series_batch {
	struct series_batch_options options;
	struct stack_profile maker;
	struct arena *arena; /* of the push that is being made */
	struct sink_profile *profiles;
	size_t count;
	size_t capacity;
	uint64_t dropped;
};

struct series_batch *series_batch_new(const struct series_batch_options *options,
                                      const struct stack_table *stacks)
{
	struct series_batch *batch = mem_zalloc(1, sizeof(*batch));

	batch->options = *options;
	batch->arena = arena_new(SERIES_BATCH_BYTES, NULL);
	stack_profile_init(&batch->maker, stacks);
	return batch;
}

void series_batch_free(struct series_batch *batch)
{
	if (!batch)
		return;
	stack_profile_fini(&batch->maker);
	arena_free(batch->arena);
	free(batch);
}

uint64_t series_batch_dropped(const struct series_batch *batch)
{
	return batch->dropped;
}

void series_batch_flush(struct series_batch *batch)
{
	const struct profile_sink *sink = &batch->options.sink;

	if (batch->count > 0)
		sink->push(sink->context, batch->profiles, batch->count);
	arena_reset(batch->arena);
	batch->profiles = NULL;
	batch->count = batch->capacity = 0;
}

/* ---- labels ---- */

struct label_builder {
	struct arena *arena;
	struct label labels[LABELS_MAX];
	size_t count;
};

static void put_label(struct label_builder *builder, const char *name, struct str value)
{
	if (value.length == 0)
		return;
	assert(builder->count < LABELS_MAX);
	builder->labels[builder->count++] = (struct label){ str_of(name), value };
}

/* A text that does not live as long as the push. */
static void put_text(struct label_builder *builder, const char *name, const char *value)
{
	if (value)
		put_label(builder, name, arena_copy(builder->arena, str_of(value)));
}

static struct str service_of(const struct series_batch *batch, const struct series *series)
{
	const char *service = series->service_name;

	if (!service)
		service = series->process ? series->process->identity.service_name.text
		                          : "vramscope-collector";
	return arena_printf(batch->arena, "%s%s", service,
	                    series->scope == SERIES_OF_OTHERS ? "" : batch->options.service_suffix);
}

static void put_process(struct label_builder *builder, const struct series *series)
{
	const struct process_identity *identity = &series->process->identity;

	put_label(builder, "proc_comm", str_of(identity->comm.text));
	for (int i = 0; i < IDENTITY_LABEL_COUNT; i++)
		put_label(builder, identity_label_on_profiles((enum identity_label)i),
		          str_of(identity->labels[i].text));
}

static void put_memory(struct label_builder *builder, const struct series_batch *batch,
                       const struct series *series)
{
	if (batch->options.has_pid_label)
		put_label(builder, "pid",
		          arena_printf(builder->arena, "%" PRIu32, series->process->tgid));
	put_text(builder, "cuda_class", series->cuda_class);
	put_text(builder, "cuda_error", series->cuda_error);
	put_text(builder, "reason", series->reason);
	put_text(builder, "recovered", series->recovered);
	put_text(builder, "state", series->state);
}

/* False when the arena is full. */
static bool make_labels(const struct series_batch *batch, const struct series *series,
                        struct label_set *out)
{
	struct label_builder builder = { .arena = batch->arena };

	/* our values are deltas already: servers that would subtract must not */
	put_label(&builder, "__delta__", STR("false"));
	put_label(&builder, "__name__", str_of(series->kind->metric));
	put_label(&builder, "service_name", service_of(batch, series));
	put_label(&builder, "hostname", str_of(batch->options.hostname));
	put_label(&builder, "cluster", str_of(batch->options.cluster));
	if (series->process)
		put_process(&builder, series);
	if (series->process && series->scope == SERIES_OF_PROCESS)
		put_memory(&builder, batch, series);
	put_text(&builder, "gpu", series->gpu);
	*out = (struct label_set){
		.labels = arena_array(batch->arena, builder.count, sizeof(struct label)),
		.count = builder.count,
	};
	if (!out->labels || arena_overflowed(batch->arena))
		return false;
	memcpy(out->labels, builder.labels, builder.count * sizeof(struct label));
	label_set_sort(out);
	return true;
}

/* ---- series ---- */

/*
 * One profile of rows from *cursor on, which moves behind them when it worked. A series
 * may need several: *out_more. False when the arena is full.
 */
static bool add_profile(struct series_batch *batch, const struct series *series, size_t *cursor,
                        bool *out_more)
{
	struct stack_profile *maker = &batch->maker;
	struct sink_profile profile;
	int64_t values[STACK_PROFILE_TYPES_MAX];
	uint32_t stack;
	size_t at = *cursor;
	size_t rows = 0;

	*out_more = false;
	if (!stack_profile_begin(maker, series->kind, series->time, batch->arena) ||
	    !make_labels(batch, series, &profile.labels))
		return false;
	while (!*out_more && series->next && series->next(series->rows, &at, &stack, values)) {
		if (!stack_profile_add(maker, stack, values))
			return false;
		rows++;
		*out_more = stack_profile_is_full(maker);
	}
	profile.profile = stack_profile_finish(maker);
	*cursor = at;
	if (rows == 0 && series->next)
		return true;
	if (!ARENA_GROW(batch->arena, batch->profiles, batch->count, batch->capacity))
		return false;
	batch->profiles[batch->count++] = profile;
	return true;
}

/* Where the push is full it goes, and the profile is begun again. */
void series_batch_add(struct series_batch *batch, const struct series *series)
{
	size_t cursor = 0;
	bool has_more = true;

	while (has_more) {
		const size_t begun = cursor;

		if (add_profile(batch, series, &cursor, &has_more))
			continue;
		series_batch_flush(batch);
		cursor = begun;
		if (!add_profile(batch, series, &cursor, &has_more)) {
			batch->dropped++;
			series_batch_flush(batch);
			return;
		}
	}
}
