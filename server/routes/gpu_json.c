#include "server/routes/gpu_json.h"

static void number(struct json_writer *writer, const char *key, int64_t value)
{
	json_key(writer, key);
	json_put_exact(writer, value);
}

static void text(struct json_writer *writer, const char *key, struct str value)
{
	json_key(writer, key);
	json_put_text(writer, value);
}

/* NULL: nobody knows. */
static void value_or_null(struct json_writer *writer, const char *key, const int64_t *value)
{
	json_key(writer, key);
	if (value)
		json_put_exact(writer, *value);
	else
		json_put_null(writer);
}

static void put_labels(struct json_writer *writer, const struct label_set *labels)
{
	json_key(writer, "labels");
	json_begin_map(writer);
	for (size_t i = 0; i < labels->count; i++) {
		json_key_str(writer, labels->labels[i].name);
		json_put_text(writer, labels->labels[i].value);
	}
	json_end_map(writer);
}

static void put_shares(struct json_writer *writer, const char *key, const struct gpu_shares *shares)
{
	json_key(writer, key);
	json_begin_map(writer);
	for (size_t i = 0; i < shares->count; i++) {
		json_key_str(writer, shares->items[i].name);
		json_put_exact(writer, shares->items[i].bytes);
	}
	json_end_map(writer);
}

/* ---- processes ---- */

static const char *state_name(enum gpu_process_state state)
{
	static const char *const names[] = {
		[GPU_PROCESS_RUNNING] = "running",
		[GPU_PROCESS_LOCKED] = "locked",
		[GPU_PROCESS_CHECKPOINTED] = "checkpointed",
		[GPU_PROCESS_EXITED] = "exited",
		[GPU_PROCESS_UNSEEN] = "gap",
	};

	return names[state];
}

static void put_process(struct json_writer *writer, const struct gpu_process_row *row)
{
	const bool is_seen = row->state != GPU_PROCESS_UNSEEN;
	const bool knows_change = is_seen && row->knows_change;

	json_begin_map(writer);
	text(writer, "id", row->id);
	put_labels(writer, &row->labels);
	text(writer, "state", str_of(state_name(row->state)));
	number(writer, "first_ms", row->first_ms);
	number(writer, "last_ms", row->last_ms);
	value_or_null(writer, "live_bytes", is_seen ? &row->live_bytes : NULL);
	value_or_null(writer, "live_blocks", is_seen ? &row->live_blocks : NULL);
	put_shares(writer, "by_class", &row->by_class);
	put_shares(writer, "by_gpu", &row->by_gpu);
	number(writer, "peak_bytes", row->peak_bytes);
	value_or_null(writer, "peak_ms", row->peak_ms > 0 ? &row->peak_ms : NULL);
	number(writer, "alloc_bytes", row->alloc_bytes);
	number(writer, "alloc_calls", row->alloc_calls);
	value_or_null(writer, "freed_bytes", knows_change ? &row->freed_bytes : NULL);
	number(writer, "failures", row->failures);
	value_or_null(writer, "growth_bytes", knows_change ? &row->growth_bytes : NULL);
	json_end_map(writer);
}

static void put_device(struct json_writer *writer, const struct gpu_device_row *row)
{
	json_begin_map(writer);
	text(writer, "hostname", row->hostname);
	text(writer, "gpu", row->gpu);
	value_or_null(writer, "used_bytes", row->has_used ? &row->used_bytes : NULL);
	number(writer, "total_bytes", row->total_bytes);
	number(writer, "live_bytes", row->live_bytes);
	json_end_map(writer);
}

void gpu_json_processes(const struct gpu_process_list *list, struct strbuf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_map(&writer);
	value_or_null(&writer, "tick_ms", list->any ? &list->tick_ms : NULL);
	value_or_null(&writer, "interval_ms", list->any ? &list->interval_ms : NULL);
	json_key(&writer, "processes");
	json_begin_list(&writer);
	for (size_t i = 0; i < list->count; i++)
		put_process(&writer, &list->rows[i]);
	json_end_list(&writer);
	json_key(&writer, "devices");
	json_begin_list(&writer);
	for (size_t i = 0; i < list->devices.count; i++)
		put_device(&writer, &list->devices.rows[i]);
	json_end_list(&writer);
	json_end_map(&writer);
}

/* ---- timeline ---- */

static void put_value(struct json_writer *writer, int64_t value)
{
	if (value == GPU_GAP)
		json_put_null(writer);
	else
		json_put_exact(writer, value);
}

static void put_values(struct json_writer *writer, const char *key, const int64_t *values,
                       size_t count)
{
	json_key(writer, key);
	json_begin_list(writer);
	for (size_t i = 0; i < count; i++)
		put_value(writer, values[i]);
	json_end_list(writer);
}

static void put_marker(struct json_writer *writer, const struct gpu_marker *marker)
{
	json_begin_map(writer);
	number(writer, "t_ms", marker->time_ms);
	text(writer, "kind", str_of(gpu_marker_kind_name(marker->kind)));
	text(writer, "process", marker->process);
	number(writer, "bytes", marker->bytes);
	json_end_map(writer);
}

void gpu_json_timeline(const struct gpu_timeline *timeline, struct strbuf *out)
{
	const struct gpu_lines *lines = &timeline->lines;
	const size_t count = timeline->step_count;
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_map(&writer);
	number(&writer, "start_ms", timeline->start_ms);
	number(&writer, "step_ms", timeline->step_ms);
	json_key(&writer, "capacity_bytes");
	put_value(&writer, timeline->capacity_bytes);
	put_values(&writer, "total", lines->total, count);
	json_key(&writer, "series");
	json_begin_list(&writer);
	for (size_t i = 0; i < lines->count; i++) {
		json_begin_map(&writer);
		text(&writer, "key", lines->items[i].key);
		put_labels(&writer, &lines->items[i].labels);
		put_values(&writer, "values", lines->items[i].values, count);
		json_end_map(&writer);
	}
	json_end_list(&writer);
	put_values(&writer, "other", lines->other, count);
	json_key(&writer, "markers");
	json_begin_list(&writer);
	for (size_t i = 0; i < timeline->markers.count; i++)
		put_marker(&writer, &timeline->markers.items[i]);
	json_end_list(&writer);
	json_end_map(&writer);
}

/* ---- out of memory ---- */

static void put_stack(struct json_writer *writer, const struct gpu_stack *stack)
{
	json_key(writer, "stack");
	json_begin_list(writer);
	for (size_t i = 0; i < stack->count; i++)
		json_put_text(writer, stack->names[i]);
	json_end_list(writer);
}

static void put_top(struct json_writer *writer, const struct gpu_held_top *top)
{
	json_key(writer, "top");
	json_begin_list(writer);
	for (size_t i = 0; i < top->count; i++) {
		json_begin_map(writer);
		number(writer, "bytes", top->rows[i].bytes);
		put_stack(writer, &top->rows[i].stack);
		json_end_map(writer);
	}
	json_end_list(writer);
}

static void put_recovery(struct json_writer *writer, enum gpu_oom_recovery recovery)
{
	json_key(writer, "recovered");
	if (recovery == GPU_OOM_RECOVERY_UNKNOWN)
		json_put_null(writer);
	else
		json_put_bool(writer, recovery == GPU_OOM_RECOVERED);
}

static void put_oom_process(struct json_writer *writer, const struct gpu_oom_process *process)
{
	json_begin_map(writer);
	text(writer, "id", process->id);
	put_labels(writer, &process->labels);
	number(writer, "live_bytes", process->live_bytes);
	put_top(writer, &process->top);
	json_end_map(writer);
}

/* Without the braces around it. */
static void put_oom(struct json_writer *writer, const struct gpu_oom *oom)
{
	text(writer, "id", oom->id);
	number(writer, "time_ms", oom->time_ms);
	put_labels(writer, &oom->labels);
	text(writer, "gpu", oom->gpu);
	text(writer, "cuda_error", oom->cuda_error);
	number(writer, "requested_bytes", oom->requested_bytes);
	value_or_null(writer, "live_bytes", oom->knows_live ? &oom->live_bytes : NULL);
	value_or_null(writer, "device_used_bytes",
	              oom->knows_device ? &oom->device_used_bytes : NULL);
	value_or_null(writer, "device_total_bytes",
	              oom->knows_device ? &oom->device_total_bytes : NULL);
	put_recovery(writer, oom->recovery);
	put_stack(writer, &oom->stack);
	put_top(writer, &oom->top);
}

void gpu_json_ooms(const struct gpu_oom_list *list, struct strbuf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_map(&writer);
	json_key(&writer, "events");
	json_begin_list(&writer);
	for (size_t i = 0; i < list->count; i++) {
		json_begin_map(&writer);
		put_oom(&writer, &list->events[i]);
		json_end_map(&writer);
	}
	json_end_list(&writer);
	json_key(&writer, "next");
	if (list->next.data)
		json_put_text(&writer, list->next);
	else
		json_put_null(&writer);
	json_end_map(&writer);
}

void gpu_json_oom(const struct gpu_oom *oom, struct strbuf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_map(&writer);
	put_oom(&writer, oom);
	json_key(&writer, "processes");
	json_begin_list(&writer);
	for (size_t i = 0; i < oom->process_count; i++)
		put_oom_process(&writer, &oom->processes[i]);
	json_end_list(&writer);
	json_end_map(&writer);
}

/* ---- growth ---- */

static void put_grown(struct json_writer *writer, const char *key, int64_t value)
{
	value_or_null(writer, key, value == GPU_GROWTH_UNKNOWN ? NULL : &value);
}

void gpu_json_growth(const struct gpu_growth *growth, struct strbuf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_map(&writer);
	json_key(&writer, "stacks");
	json_begin_list(&writer);
	for (size_t i = 0; i < growth->count; i++) {
		const struct gpu_growth_row *row = &growth->rows[i];

		json_begin_map(&writer);
		put_stack(&writer, &row->stack);
		put_grown(&writer, "start_bytes", row->start_bytes);
		put_grown(&writer, "end_bytes", row->end_bytes);
		put_grown(&writer, "growth_bytes", row->growth_bytes);
		json_key(&writer, "floor");
		json_begin_map(&writer);
		for (int j = 0; j < GPU_FLOOR_COUNT; j++)
			put_grown(&writer, gpu_floor_name((enum gpu_floor)j), row->floor[j]);
		json_end_map(&writer);
		json_end_map(&writer);
	}
	json_end_list(&writer);
	json_end_map(&writer);
}
