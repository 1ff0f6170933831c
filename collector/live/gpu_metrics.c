#include "collector/live/gpu_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/identity/identifier.h"
#include "collector/live/cuda_error.h"
#include "collector/live/device_groups.h"
#include "collector/live/device_metrics.h"
#include "collector/live/metrics_text.h"

#define ERRORS_MAX 64 /* results that are told apart; others are "other" */

/* A driver call takes microseconds to seconds. */
static const struct {
	const char *text;
	int64_t ns;
} bounds[] = {
	{ "1e-05", 10000 },   { "0.0001", 100000 }, { "0.001", 1000000 },  { "0.01", 10000000 },
	{ "0.1", 100000000 }, { "1", 1000000000 },  { "10", 10000000000 },
};

#define BOUND_COUNT ARRAY_LENGTH(bounds)

struct error_count {
	int32_t result;
	uint64_t count;
};

struct gpu_metrics {
	struct gpu_metrics_options options;
	uint64_t events[CUDA_EVENT_KIND_COUNT];
	uint64_t call_buckets[BOUND_COUNT + 1];
	uint64_t call_ns;
	struct error_count errors[ERRORS_MAX];
	size_t error_count;
	uint64_t other_errors;
};

struct gpu_metrics *gpu_metrics_new(const struct gpu_metrics_options *options)
{
	struct gpu_metrics *metrics = mem_zalloc(1, sizeof(*metrics));

	metrics->options = *options;
	return metrics;
}

void gpu_metrics_free(struct gpu_metrics *metrics)
{
	free(metrics);
}

/* ---- counting ---- */

static void count_error(struct gpu_metrics *metrics, int32_t result)
{
	for (size_t i = 0; i < metrics->error_count; i++) {
		if (metrics->errors[i].result != result)
			continue;
		metrics->errors[i].count++;
		return;
	}
	if (metrics->error_count == ERRORS_MAX) {
		metrics->other_errors++;
		return;
	}
	metrics->errors[metrics->error_count++] = (struct error_count){ result, 1 };
}

void gpu_metrics_count(struct gpu_metrics *metrics, const struct cuda_event *event)
{
	size_t bucket = 0;

	if (event->kind < CUDA_EVENT_KIND_COUNT)
		metrics->events[event->kind]++;
	if (event->result != 0)
		count_error(metrics, event->result);
	if (event->kind != CUDA_EVENT_ALLOC)
		return;
	while (bucket < BOUND_COUNT && event->duration_ns > (uint64_t)bounds[bucket].ns)
		bucket++;
	metrics->call_buckets[bucket]++;
	metrics->call_ns += event->duration_ns;
}

/* ---- writing ---- */

static void put_named(const struct metrics_text *text, enum gpu_metric_id id, const char *label,
                      const struct named_count *counts, size_t count)
{
	metrics_text_begin(text, id);
	for (size_t i = 0; i < count; i++)
		metrics_text_number(text, id, label, counts[i].name, counts[i].count);
}

static void put_process(const struct metrics_text *text, const struct gpu_process *process)
{
	metrics_text_process(text, process->tgid, &process->identity);
}

/* ---- names that other collectors gave ---- */

/* Which classes those call device and host; others they do not know. */
static bool is_of_host(enum cuda_class memory_class, int host)
{
	return host ? memory_class == CUDA_CLASS_PINNED : cuda_class_is_gpu(memory_class);
}

/* The sums of a process over the classes of one place. */
static struct class_books books_of(const struct gpu_process *process, int host)
{
	struct class_books sum = { 0 };

	for (int i = 0; i < CUDA_CLASS_COUNT; i++) {
		const struct class_books *books = &process->account.books[i];

		if (!is_of_host((enum cuda_class)i, host))
			continue;
		sum.alloc_bytes += books->alloc_bytes;
		sum.free_bytes += books->free_bytes;
		sum.implicit_bytes += books->implicit_bytes;
		sum.alloc_calls += books->alloc_calls;
		sum.free_calls += books->free_calls;
		sum.implicit_calls += books->implicit_calls;
	}
	return sum;
}

static wide_sum at_least(wide_sum *shown, wide_sum now)
{
	*shown = now > *shown ? now : *shown;
	return *shown;
}

static int64_t value_of(enum gpu_metric_id id, struct gpu_process *process, int host)
{
	const struct class_books sum = books_of(process, host);

	switch (id) {
	case GPU_METRIC_ALLOC_BYTES:
		return wide_sum_value(sum.alloc_bytes);
	case GPU_METRIC_FREE_BYTES:
		return wide_sum_value(at_least(&process->shown_free_bytes[host], sum.free_bytes));
	case GPU_METRIC_IMPLICIT_BYTES:
		return wide_sum_value(sum.implicit_bytes);
	case GPU_METRIC_ALLOC_CALLS:
		return wide_sum_value(sum.alloc_calls);
	case GPU_METRIC_FREE_CALLS:
		return wide_sum_value(at_least(&process->shown_free_calls[host], sum.free_calls));
	default:
		return wide_sum_value(sum.implicit_calls);
	}
}

static void put_compatible(const struct metrics_text *text, enum gpu_metric_id id)
{
	metrics_text_begin(text, id);
	for (size_t i = 0; i < text->process_count; i++) {
		struct gpu_process *process = text->processes[i];

		/* device also with nothing in it; host for who has pinned any */
		for (int host = 0; host < 2; host++) {
			if (host && books_of(process, host).alloc_calls == 0)
				continue;
			strbuf_printf(text->out, "%s{", metrics_text_name(id));
			put_process(text, process);
			strbuf_printf(text->out,
			              ",host_raw=\"%d\",host=\"%s\",otel_scope_name="
			              "\"libcuda_mem_stats\",otel_scope_version=\"\"} %" PRId64
			              "\n",
			              host, host ? "HOST" : "DEVICE", value_of(id, process, host));
		}
	}
}

/* ---- our own ---- */

/* A line for each class. */
static void put_group(const struct metrics_text *text, const struct gpu_process *process,
                      const struct device_group *group)
{
	for (int i = 0; i < CUDA_CLASS_COUNT; i++) {
		const struct class_books books =
			device_group_books(&process->account, group, (enum cuda_class)i);

		if (books.alloc_calls == 0)
			continue;
		strbuf_printf(text->out, "%s{", metrics_text_name(GPU_METRIC_INUSE_BYTES));
		put_process(text, process);
		strbuf_printf(text->out, ",cuda_class=\"%s\",",
		              cuda_class_name((enum cuda_class)i));
		metrics_text_label(text->out, "gpu", group->gpu);
		strbuf_printf(text->out, "} %" PRId64 "\n", wide_sum_value(books.live_bytes));
	}
}

static void put_live(const struct metrics_text *text)
{
	metrics_text_begin(text, GPU_METRIC_INUSE_BYTES);
	for (size_t i = 0; i < text->process_count; i++) {
		struct device_groups groups;

		device_groups_of(text->processes[i], &groups);
		for (size_t j = 0; j < groups.count; j++)
			put_group(text, text->processes[i], &groups.groups[j]);
	}
	metrics_text_begin(text, GPU_METRIC_PEAK_BYTES);
	for (size_t i = 0; i < text->process_count; i++) {
		strbuf_printf(text->out, "%s{", metrics_text_name(GPU_METRIC_PEAK_BYTES));
		put_process(text, text->processes[i]);
		strbuf_printf(text->out, "} %" PRId64 "\n",
		              wide_sum_value(text->processes[i]->account.gpu_peak_bytes));
	}
}

static void put_suspended(const struct metrics_text *text)
{
	metrics_text_begin(text, GPU_METRIC_SUSPENDED);
	for (size_t i = 0; i < text->process_count; i++) {
		const struct gpu_process *process = text->processes[i];

		if (process->suspension == SUSPENSION_NONE || process->end_mono_ns != 0)
			continue;
		strbuf_printf(text->out, "%s{", metrics_text_name(GPU_METRIC_SUSPENDED));
		put_process(text, process);
		strbuf_printf(text->out, ",state=\"%s\"} %" PRId64 "\n",
		              suspension_name(process->suspension),
		              wide_sum_value(process->account.gpu_live_bytes));
	}
}

/* ---- what went wrong ---- */

static void put_failures(const struct metrics_text *text, const struct gpu_metrics *metrics)
{
	metrics_text_begin(text, GPU_METRIC_FAILURES);
	for (size_t i = 0; i < metrics->error_count; i++) {
		char name[CUDA_ERROR_TEXT];

		cuda_error_name(metrics->errors[i].result, name);
		metrics_text_number(text, GPU_METRIC_FAILURES, "cuda_error", name,
		                    metrics->errors[i].count);
	}
	if (metrics->other_errors > 0)
		metrics_text_number(text, GPU_METRIC_FAILURES, "cuda_error", "other",
		                    metrics->other_errors);
}

static void put_call_seconds(const struct metrics_text *text, const struct gpu_metrics *metrics)
{
	const char *name = metrics_text_name(GPU_METRIC_CALL_SECONDS);
	uint64_t count = 0;

	metrics_text_begin(text, GPU_METRIC_CALL_SECONDS);
	for (size_t i = 0; i <= BOUND_COUNT; i++) {
		count += metrics->call_buckets[i];
		strbuf_printf(text->out, "%s_bucket{le=\"%s\"} %" PRIu64 "\n", name,
		              i < BOUND_COUNT ? bounds[i].text : "+Inf", count);
	}
	strbuf_printf(text->out, "%s_sum %.9f\n%s_count %" PRIu64 "\n", name,
	              (double)metrics->call_ns / (double)NS_PER_S, name, count);
}

static void put_events(const struct metrics_text *text, const struct gpu_metrics *metrics)
{
	static const char *const kinds[CUDA_EVENT_KIND_COUNT] = {
		[CUDA_EVENT_ALLOC] = "alloc",
		[CUDA_EVENT_FREE] = "free",
		[CUDA_EVENT_FREE_UNDONE] = "free_undone",
		[CUDA_EVENT_FAILED] = "failed",
		[CUDA_EVENT_EXIT] = "exit",
		[CUDA_EVENT_INIT] = "init",
		[CUDA_EVENT_EXEC] = "exec",
		[CUDA_EVENT_DONE] = "done",
		[CUDA_EVENT_UNMAP] = "unmap",
		[CUDA_EVENT_UNMAPPED] = "unmapped",
	};

	metrics_text_begin(text, GPU_METRIC_EVENTS);
	for (size_t i = 0; i < CUDA_EVENT_KIND_COUNT; i++)
		if (kinds[i])
			metrics_text_number(text, GPU_METRIC_EVENTS, "kind", kinds[i],
			                    metrics->events[i]);
}

/* What went otherwise than it should, and what it takes. */
static void put_oddities(const struct metrics_text *text, struct gpu_process_table *processes,
                         const struct stack_table *stacks, const struct collector_health *health)
{
	struct gpu_process_usage usage;
	struct named_count counts[4];

	gpu_process_table_usage(processes, &usage);
	put_named(text, GPU_METRIC_DROPPED, "reason", health->dropped, health->dropped_count);
	counts[0] = (struct named_count){ "event_lost", usage.oddities.lost_calls };
	counts[1] = (struct named_count){ "untracked", usage.oddities.untracked_calls };
	counts[2] = (struct named_count){ "stacks_full", stack_table_overflows(stacks) };
	counts[3] = (struct named_count){ "processes_full", usage.refused_events };
	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++)
		metrics_text_number(text, GPU_METRIC_DROPPED, "reason", counts[i].name,
		                    counts[i].count);
	metrics_text_family(text, GPU_METRIC_LOST_BYTES,
	                    (uint64_t)wide_sum_value(usage.oddities.unstacked_bytes));
	metrics_text_family(text, GPU_METRIC_UNKNOWN_FREES, usage.oddities.unknown_frees);
	metrics_text_family(text, GPU_METRIC_MISSED_FREES, usage.oddities.missed_frees);
	metrics_text_family(text, GPU_METRIC_PROCESSES, usage.running);
	metrics_text_family(text, GPU_METRIC_UNNAMED, usage.unnamed);
	metrics_text_begin(text, GPU_METRIC_MEMORY);
	metrics_text_number(text, GPU_METRIC_MEMORY, "table", "stacks", stack_table_bytes(stacks));
	metrics_text_number(text, GPU_METRIC_MEMORY, "table", "blocks", usage.memory_bytes);
}

/* The newest process of each id that has its name. */
static void choose_processes(struct metrics_text *text, struct gpu_process_table *processes)
{
	const size_t count = gpu_process_table_count(processes);
	CLEANUP(id_map_fini) struct id_map seen = { 0 };

	text->processes = mem_zalloc(count + 1, sizeof(struct gpu_process *));
	for (size_t i = count; i-- > 0;) {
		struct gpu_process *process = gpu_process_table_at(processes, i);
		bool is_new;

		if (process->identity.is_late || process->is_former)
			continue;
		(void)id_map_add(&seen, hash128(0, &process->tgid, sizeof(process->tgid)), &is_new);
		if (is_new)
			text->processes[text->process_count++] = process;
	}
}

void gpu_metrics_format(const struct gpu_metrics *metrics, struct gpu_process_table *processes,
                        const struct stack_table *stacks, const struct collector_health *health,
                        struct strbuf *out)
{
	struct metrics_text text = { .cluster = metrics->options.cluster, .out = out };

	choose_processes(&text, processes);
	for (int i = GPU_METRIC_ALLOC_BYTES; i <= GPU_METRIC_IMPLICIT_CALLS; i++)
		put_compatible(&text, (enum gpu_metric_id)i);
	put_live(&text);
	if (metrics->options.devices)
		device_metrics_format(&text, metrics->options.devices);
	put_suspended(&text);
	put_failures(&text, metrics);
	put_named(&text, GPU_METRIC_OOM_REPORTS, "outcome", health->oom_reports,
	          health->oom_report_count);
	put_call_seconds(&text, metrics);
	metrics_text_family(&text, GPU_METRIC_UP, health->is_up);
	put_events(&text, metrics);
	put_oddities(&text, processes, stacks, health);
	metrics_text_family(&text, GPU_METRIC_LIBRARIES, health->attached_libraries);
	metrics_text_family(&text, GPU_METRIC_PROBES, health->attached_probes);
	metrics_text_family(&text, GPU_METRIC_CONTEXT_PROCESSES, health->context_processes);
	put_named(&text, GPU_METRIC_ATTACH_ERRORS, "reason", health->attach_errors,
	          health->attach_error_count);
	free(text.processes);
}

void gpu_metrics_format_down(struct strbuf *out)
{
	const struct metrics_text text = { .out = out };

	metrics_text_family(&text, GPU_METRIC_UP, 0);
}

void gpu_metrics_format_pushes(const struct push_health *health, struct strbuf *out)
{
	const struct metrics_text text = { .out = out };
	const struct named_count waiting[] = {
		{ "memory", health->waiting_in_memory },
		{ "spool", health->waiting_in_spool },
	};

	put_named(&text, GPU_METRIC_PUSHES, "outcome", health->outcomes, health->outcome_count);
	metrics_text_family(&text, GPU_METRIC_PUSH_BYTES, health->waiting_bytes);
	put_named(&text, GPU_METRIC_PUSHES_WAITING, "place", waiting, ARRAY_LENGTH(waiting));
	metrics_text_family(&text, GPU_METRIC_PUSH_AGE, health->oldest_age_s);
	put_named(&text, GPU_METRIC_PUSH_DROPS, "reason", health->drops, health->drop_count);
	if (!health->has_spool)
		return;
	metrics_text_family(&text, GPU_METRIC_SPOOL_BYTES, health->spool_bytes);
	metrics_text_family(&text, GPU_METRIC_SPOOL_UP, health->is_spooling);
}

void gpu_metrics_format_pods(const struct identifier_counts *counts, struct strbuf *out)
{
	const struct metrics_text text = { .out = out };

	if (!counts->has_watch)
		return;
	metrics_text_family(&text, GPU_METRIC_PODS, counts->table.pods);
	metrics_text_family(&text, GPU_METRIC_PODS_CURRENT, counts->watch.is_current);
	metrics_text_family(&text, GPU_METRIC_POD_EVENTS, counts->watch.events);
	metrics_text_family(&text, GPU_METRIC_POD_FAILURES, counts->watch.failures);
	metrics_text_family(&text, GPU_METRIC_POD_LOSSES,
	                    counts->watch.passed_over + counts->table.refused);
}

void gpu_metrics_print_docs(struct strbuf *out)
{
	metrics_text_print_docs(out);
}
