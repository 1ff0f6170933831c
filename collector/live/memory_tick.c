#include "collector/live/memory_tick.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collector/live/cuda_error.h"

#define LABELS_MAX (12 + IDENTITY_LABEL_COUNT)

static const struct stack_profile_kind memory_kind = {
	.metric = "memory",
	.types = { { "alloc_space", "bytes" },
	           { "alloc_objects", "count" },
	           { "inuse_space", "bytes" },
	           { "inuse_objects", "count" } },
	.type_count = 4,
	.period = { "space", "bytes" },
};

/* Without samples: what was watched held nothing. */
static const struct stack_profile_kind nothing_kind = {
	.metric = "memory",
	.types = { { "inuse_space", "bytes" }, { "inuse_objects", "count" } },
	.type_count = 2,
	.period = { "space", "bytes" },
};

/* No period type: what the published dashboard asks for is process_cpu:malloc:bytes:: */
static const struct stack_profile_kind malloc_kind = {
	.metric = "process_cpu",
	.types = { { "malloc", "bytes" } },
	.type_count = 1,
};

static const struct stack_profile_kind failed_kind = {
	.metric = "gpu_memory_failed",
	.types = { { "requested_space", "bytes" }, { "failures", "count" } },
	.type_count = 2,
	.period = { "space", "bytes" },
};

struct memory_tick {
	struct memory_tick_options options;
	struct gpu_process_table *processes;
	struct stack_table *stacks;
	struct stack_profile maker;
	struct arena *arena; /* of the push that is being made */
	struct sink_profile *profiles;
	size_t count;
	size_t capacity;
	struct stack_profile_time time;
	uint64_t dropped;
};

struct memory_tick *memory_tick_new(const struct memory_tick_options *options,
                                    struct gpu_process_table *processes, struct stack_table *stacks)
{
	struct memory_tick *tick = mem_zalloc(1, sizeof(*tick));

	tick->options = *options;
	tick->processes = processes;
	tick->stacks = stacks;
	tick->arena = arena_new(MEMORY_TICK_BYTES, NULL);
	stack_profile_init(&tick->maker, stacks);
	return tick;
}

void memory_tick_free(struct memory_tick *tick)
{
	if (!tick)
		return;
	stack_profile_fini(&tick->maker);
	arena_free(tick->arena);
	free(tick);
}

uint64_t memory_tick_dropped(const struct memory_tick *tick)
{
	return tick->dropped;
}

static void push(struct memory_tick *tick)
{
	if (tick->count > 0)
		tick->options.sink.push(tick->options.sink.context, tick->profiles, tick->count);
	arena_reset(tick->arena);
	tick->profiles = NULL;
	tick->count = tick->capacity = 0;
}

/* ---- labels ---- */

struct label_builder {
	struct arena *arena;
	struct label labels[LABELS_MAX];
	size_t count;
};

static void put_label(struct label_builder *builder, const char *name, struct str value)
{
	if (value.length > 0)
		builder->labels[builder->count++] = (struct label){ str_of(name), value };
}

/* What one series is told by, besides its process. */
struct series_names {
	const struct gpu_process *process; /* NULL: the heartbeat */
	enum cuda_class memory_class;      /* CUDA_CLASS_COUNT: of all */
	const char *cuda_error;            /* or NULL */
};

static struct str service_of(const struct memory_tick *tick, const struct stack_profile_kind *kind,
                             const struct series_names *names)
{
	const char *service = names->process ? names->process->identity.service_name.text
	                                     : "vramscope-collector";
	const char *suffix = kind == &malloc_kind ? "" : tick->options.service_suffix;

	return arena_printf(tick->arena, "%s%s", service, suffix);
}

static void put_process(struct label_builder *builder, const struct memory_tick *tick,
                        const struct stack_profile_kind *kind, const struct series_names *names)
{
	const struct process_identity *identity = &names->process->identity;

	put_label(builder, "proc_comm", str_of(identity->comm.text));
	for (int i = 0; i < IDENTITY_LABEL_COUNT; i++)
		put_label(builder, identity_label_on_profiles((enum identity_label)i),
		          str_of(identity->labels[i].text));
	if (kind == &malloc_kind)
		return;
	if (tick->options.has_pid_label)
		put_label(builder, "pid",
		          arena_printf(builder->arena, "%" PRIu32, names->process->tgid));
	put_label(builder, "cuda_class", str_of(cuda_class_name(names->memory_class)));
	put_label(builder, "gpu", str_of(tick->options.gpu));
	if (names->cuda_error)
		put_label(builder, "cuda_error",
		          arena_copy(builder->arena, str_of(names->cuda_error)));
}

/* False when the arena is full. */
static bool make_labels(const struct memory_tick *tick, const struct stack_profile_kind *kind,
                        const struct series_names *names, struct label_set *out)
{
	struct label_builder builder = { .arena = tick->arena };

	/* our values are deltas already: servers that would subtract must not */
	put_label(&builder, "__delta__", STR("false"));
	put_label(&builder, "__name__", str_of(kind->metric));
	put_label(&builder, "service_name", service_of(tick, kind, names));
	put_label(&builder, "hostname", str_of(tick->options.hostname));
	put_label(&builder, "cluster", str_of(tick->options.cluster));
	if (names->process)
		put_process(&builder, tick, kind, names);
	*out = (struct label_set){
		.labels = arena_array(tick->arena, builder.count, sizeof(struct label)),
		.count = builder.count,
	};
	if (!out->labels || arena_overflowed(tick->arena))
		return false;
	memcpy(out->labels, builder.labels, builder.count * sizeof(struct label));
	label_set_sort(out);
	return true;
}

/* ---- series ---- */

/*
 * Gives one stack and its values and moves *cursor on; false when there are no more. NULL:
 * there are none, and that is to be told.
 */
typedef bool (*row_source)(const struct series_names *names, size_t *cursor, uint32_t *out_stack,
                           int64_t *out_values);

static bool next_memory(const struct series_names *names, size_t *cursor, uint32_t *out_stack,
                        int64_t *out_values)
{
	const struct memory_sums *sums = &names->process->account.sums;

	while (*cursor < memory_sums_count(sums)) {
		const struct memory_sum *sum = memory_sums_at(sums, (uint32_t)(*cursor)++);

		if (sum->memory_class != names->memory_class ||
		    (sum->alloc_objects == 0 && sum->alloc_bytes == 0 && sum->live_objects == 0))
			continue;
		*out_stack = sum->stack;
		out_values[0] = wide_sum_value(sum->alloc_bytes);
		out_values[1] = wide_sum_value(sum->alloc_objects);
		out_values[2] = wide_sum_value(sum->live_bytes);
		out_values[3] = wide_sum_value(sum->live_objects);
		return true;
	}
	return false;
}

static bool next_malloc(const struct series_names *names, size_t *cursor, uint32_t *out_stack,
                        int64_t *out_values)
{
	const struct memory_sums *sums = &names->process->account.sums;

	while (*cursor < memory_sums_count(sums)) {
		const struct memory_sum *sum = memory_sums_at(sums, (uint32_t)(*cursor)++);

		/* registering pins memory that is there, it allocates none */
		if (sum->memory_class == CUDA_CLASS_REGISTERED || sum->alloc_bytes == 0)
			continue;
		*out_stack = sum->stack;
		out_values[0] = wide_sum_value(sum->alloc_bytes);
		return true;
	}
	return false;
}

static bool next_failure(const struct series_names *names, size_t *cursor, uint32_t *out_stack,
                         int64_t *out_values)
{
	const struct gpu_account *account = &names->process->account;

	while (*cursor < account->failure_count) {
		const struct failure_sum *sum = &account->failures[(*cursor)++];
		char name[CUDA_ERROR_TEXT];

		cuda_error_name(sum->result, name);
		if (sum->memory_class != names->memory_class ||
		    strcmp(name, names->cuda_error) != 0)
			continue;
		*out_stack = sum->stack;
		out_values[0] = wide_sum_value(sum->requested_bytes);
		out_values[1] = wide_sum_value(sum->failures);
		return true;
	}
	return false;
}

/*
 * One profile of rows from *cursor on, which moves behind them when it worked. A series
 * may need several: *out_more. False when the arena is full.
 */
static bool add_profile(struct memory_tick *tick, const struct stack_profile_kind *kind,
                        const struct series_names *names, row_source next, size_t *cursor,
                        bool *out_more)
{
	struct stack_profile *maker = &tick->maker;
	struct sink_profile profile;
	int64_t values[STACK_PROFILE_TYPES_MAX];
	uint32_t stack;
	size_t at = *cursor;
	size_t rows = 0;

	*out_more = false;
	if (!stack_profile_begin(maker, kind, tick->time, tick->arena) ||
	    !make_labels(tick, kind, names, &profile.labels))
		return false;
	while (!*out_more && next && next(names, &at, &stack, values)) {
		if (!stack_profile_add(maker, stack, values))
			return false;
		rows++;
		*out_more = stack_profile_is_full(maker);
	}
	profile.profile = stack_profile_finish(maker);
	*cursor = at;
	if (rows == 0 && next)
		return true;
	if (!ARENA_GROW(tick->arena, tick->profiles, tick->count, tick->capacity))
		return false;
	tick->profiles[tick->count++] = profile;
	return true;
}

/* All rows of one series; where the push is full it goes, and the profile is begun again. */
static void add_series(struct memory_tick *tick, const struct stack_profile_kind *kind,
                       const struct series_names *names, row_source next)
{
	size_t cursor = 0;
	bool has_more = true;

	while (has_more) {
		const size_t begun = cursor;

		if (add_profile(tick, kind, names, next, &cursor, &has_more))
			continue;
		push(tick);
		cursor = begun;
		if (!add_profile(tick, kind, names, next, &cursor, &has_more)) {
			tick->dropped++;
			push(tick);
			return;
		}
	}
}

/* ---- a tick ---- */

static bool is_first_of_its_error(const struct gpu_account *account, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (account->failures[i].memory_class == account->failures[index].memory_class &&
		    account->failures[i].result == account->failures[index].result)
			return false;
	return true;
}

static void add_failures(struct memory_tick *tick, const struct gpu_process *process)
{
	const struct gpu_account *account = &process->account;

	for (size_t i = 0; i < account->failure_count; i++) {
		char name[CUDA_ERROR_TEXT];
		const struct series_names names = { .process = process,
			                            .memory_class =
			                                    account->failures[i].memory_class,
			                            .cuda_error = name };

		if (!is_first_of_its_error(account, i))
			continue;
		cuda_error_name(account->failures[i].result, name);
		add_series(tick, &failed_kind, &names, next_failure);
	}
}

static void add_process(struct memory_tick *tick, struct gpu_process *process)
{
	struct series_names names = { .process = process };

	for (int i = 0; i < CUDA_CLASS_COUNT; i++) {
		const struct class_books *books = &process->account.books[i];

		if (books->alloc_calls == 0 && books->alloc_bytes == 0)
			continue;
		names.memory_class = (enum cuda_class)i;
		add_series(tick, &memory_kind, &names, next_memory);
		/* it runs, though there is nothing to show: whoever has no tick has ended */
		if (books->live_blocks == 0 && process->end_mono_ns == 0)
			add_series(tick, &nothing_kind, &names, NULL);
	}
	names.memory_class = CUDA_CLASS_COUNT;
	add_series(tick, &malloc_kind, &names, next_malloc);
	add_failures(tick, process);
}

/* What a sum still says of its stack: blocks, or a part of the highest point. */
static bool refers(const struct memory_sums *sums, const struct memory_sum *sum)
{
	return sum->live_objects > 0 || high_water_of(&sums->high, sum) > 0;
}

/* Stacks that nothing refers to any more go, when they are the larger part. */
static void throw_away(struct memory_tick *tick)
{
	const size_t count = gpu_process_table_count(tick->processes);
	uint8_t *marks;
	uint32_t *numbers;

	for (size_t i = 0; i < count; i++)
		if (gpu_process_table_at(tick->processes, i)->identity.is_late)
			return; /* what it allocated and failed at refers to stacks, too */
	marks = stack_table_marks(tick->stacks);
	for (size_t i = 0; i < count; i++) {
		struct gpu_account *account = &gpu_process_table_at(tick->processes, i)->account;

		gpu_account_rebuild(account, NULL);
		for (uint32_t j = 0; j < memory_sums_count(&account->sums); j++)
			if (refers(&account->sums, memory_sums_at(&account->sums, j)))
				marks[memory_sums_at(&account->sums, j)->stack] = 1;
	}
	stack_table_shrink(tick->stacks, marks, &numbers);
	for (size_t i = 0; numbers && i < count; i++)
		gpu_account_rebuild(&gpu_process_table_at(tick->processes, i)->account, numbers);
	free(numbers);
}

void memory_tick_publish(struct memory_tick *tick, struct stack_profile_time time)
{
	const struct series_names nobody = { .process = NULL };

	tick->time = time;
	add_series(tick, &nothing_kind, &nobody, NULL);
	for (size_t i = 0; i < gpu_process_table_count(tick->processes); i++) {
		struct gpu_process *process = gpu_process_table_at(tick->processes, i);

		if (!process->identity.is_late)
			add_process(tick, process);
	}
	push(tick);
	for (size_t i = 0; i < gpu_process_table_count(tick->processes); i++) {
		struct gpu_process *process = gpu_process_table_at(tick->processes, i);

		if (process->identity.is_late)
			continue; /* its deltas wait for its name */
		gpu_account_sent(&process->account);
		process->is_published |= process->end_mono_ns != 0 && process->is_settled;
	}
	throw_away(tick);
}
