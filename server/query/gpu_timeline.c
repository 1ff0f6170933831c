#include "server/query/gpu_timeline.h"

#include "server/query/gpu_cells.h"
#include "server/query/gpu_groups.h"
#include "server/query/gpu_moments.h"
#include "server/query/gpu_starts.h"
#include "server/query/gpu_ticks.h"

#define MEASURES                                                                          \
	(GPU_TICKING | GPU_MEASURE_BIT(GPU_PEAK_BYTES) | GPU_MEASURE_BIT(GPU_OOM_BYTES) | \
	 GPU_MEASURE_BIT(GPU_DEVICE_BYTES))

/* The first and the last tick of a process in the range, and what was live then. */
struct span {
	int64_t first_ns;
	int64_t first_bytes;
	int64_t last_ns;
	int64_t last_bytes;
};

/* What a device last said of its size. */
struct device {
	int64_t time_ns;
	int64_t bytes;
};

struct timeline {
	const struct gpu_question *question;
	struct arena *arena;
	struct gpu_roster roster;
	struct gpu_ticks ticks;
	struct gpu_grid grid;
	struct store_range range;
	struct gpu_groups groups;
	struct gpu_moments moments;
	struct gpu_marker_list markers;

	struct span *spans; /* by process */
	size_t span_capacity;
	size_t span_count;
	int64_t *newest; /* ticks by node */
	size_t newest_capacity;
	size_t newest_count;
	struct intern device_ids;
	struct device *devices;
	size_t device_capacity;
};

int gpu_timeline_steps(const struct gpu_question *question, int64_t step_ms, int64_t *out_start_ms,
                       size_t *out_count, struct error *err)
{
	const int64_t first =
		question->query.start_ms / step_ms + (question->query.start_ms % step_ms > 0);
	const int64_t last = question->query.end_ms / step_ms;
	const int64_t count = last - first + 1;

	if (count > GPU_STEPS_MAX)
		return error_set(err, ERROR_INVALID,
		                 "%lld steps are more than %d: ask for a longer step or a shorter "
		                 "range",
		                 (long long)count, GPU_STEPS_MAX);
	/* a range between two steps has none; the next one may be past what a clock counts */
	*out_start_ms = count > 0 ? first * step_ms : question->query.start_ms;
	*out_count = count > 0 ? (size_t)count : 0;
	return 0;
}

/* ---- points ---- */

static int need_span(struct timeline *run, uint32_t process, struct error *err)
{
	while (process >= run->span_capacity)
		if (!arena_grow(run->arena, (void **)&run->spans, sizeof(*run->spans),
		                &run->span_capacity))
			return arena_error(run->arena, err);
	for (; run->span_count <= process; run->span_count++)
		run->spans[run->span_count] = (struct span){ INT64_MAX, 0, INT64_MIN, 0 };
	return 0;
}

/* A tick at which a process held so much more. */
static void widen(struct span *span, int64_t time_ns, int64_t bytes)
{
	if (time_ns < span->first_ns) {
		span->first_ns = time_ns;
		span->first_bytes = 0;
	}
	if (time_ns > span->last_ns) {
		span->last_ns = time_ns;
		span->last_bytes = 0;
	}
	if (time_ns == span->first_ns)
		span->first_bytes = gpu_bytes_add(span->first_bytes, bytes);
	if (time_ns == span->last_ns)
		span->last_bytes = gpu_bytes_add(span->last_bytes, bytes);
}

static int add_tick(struct timeline *run, const struct gpu_role *role,
                    const struct store_point *point, struct error *err)
{
	const int64_t time_ns = point->time_unix_ns;
	const bool is_live = role->measure == GPU_LIVE_BYTES && role->is_counted;

	while (role->node >= run->newest_capacity)
		if (!arena_grow(run->arena, (void **)&run->newest, sizeof(*run->newest),
		                &run->newest_capacity))
			return arena_error(run->arena, err);
	for (; run->newest_count <= role->node; run->newest_count++)
		run->newest[run->newest_count] = INT64_MIN;
	if (time_ns > run->newest[role->node])
		run->newest[role->node] = time_ns;
	if (gpu_ticks_add(&run->ticks, role->node, time_ns, err) < 0)
		return -1;
	if (role->process == GPU_NOBODY)
		return 0;
	if (need_span(run, role->process, err) < 0)
		return -1;
	widen(&run->spans[role->process], time_ns, is_live ? point->total : 0);
	if (!is_live)
		return 0;
	return gpu_groups_add(&run->groups, &run->roster, role, point, err);
}

static int add_oom(struct timeline *run, const struct gpu_role *role,
                   const struct store_point *point, struct error *err)
{
	const struct gpu_marker marker = {
		.time_ms = point->time_unix_ns / NS_PER_MS,
		.kind = GPU_MARKER_OOM,
		.number = role->process,
		.bytes = point->total,
	};

	return gpu_marker_list_add(&run->markers, run->arena, &marker, err);
}

static int add_device(struct timeline *run, const struct gpu_role *role,
                      const struct store_point *point, struct error *err)
{
	const struct hash128 parts[] = {
		hash128_str(run->roster.secret, role->gpu),
		{ role->node, 0 },
	};
	bool is_new;
	uint32_t number;

	if (!gpu_question_asks_device(run->question, point->labels))
		return 0;
	number = intern_add(&run->device_ids, run->arena,
	                    hash128(run->roster.secret, parts, sizeof(parts)), &is_new);
	if (number == INTERN_NONE ||
	    (is_new && !ARENA_GROW(run->arena, run->devices, number, run->device_capacity)))
		return arena_error(run->arena, err);
	if (is_new || point->time_unix_ns > run->devices[number].time_ns)
		run->devices[number] = (struct device){ point->time_unix_ns, point->total };
	return 0;
}

static int add_point(void *context, const struct store_point *point, struct error *err)
{
	struct timeline *run = context;
	const struct gpu_role *role = gpu_roster_role(&run->roster, point, err);
	const bool is_inside = point->time_unix_ns >= run->range.start_unix_ns;

	if (!role)
		return -1;
	if (gpu_measure_is_of_device(role->measure))
		return add_device(run, role, point, err);
	if (gpu_role_ticks(role) && add_tick(run, role, point, err) < 0)
		return -1;
	if (!is_inside || role->process == GPU_NOBODY || !role->is_asked)
		return 0;
	if (role->measure == GPU_OOM_BYTES)
		return add_oom(run, role, point, err);
	if ((role->measure == GPU_LIVE_BYTES || role->measure == GPU_PEAK_BYTES) &&
	    role->is_counted)
		return gpu_moments_add(&run->moments, role, point, err);
	return 0;
}

static int scan(struct timeline *run, struct error *err)
{
	const struct gpu_read read = {
		.measures = MEASURES,
		.scope = GPU_WHOLE_NODES,
		.range = { run->range.start_unix_ns - GPU_TICK_SLACK_NS, run->range.end_unix_ns },
	};

	return gpu_question_scan(run->question, &read, add_point, run, err);
}

/* Since when, and until when, each process is there. */
static int find_starts(struct timeline *run, struct error *err)
{
	size_t count;
	const uint32_t *wanted = gpu_roster_asked(&run->roster, &count);

	if (!wanted)
		return arena_error(run->arena, err);
	for (size_t i = 0; i < run->span_count; i++) {
		run->roster.processes[i].first_ns = run->spans[i].first_ns;
		run->roster.processes[i].last_ns = run->spans[i].last_ns;
	}
	return gpu_starts_find(&run->roster, wanted, count,
	                       run->range.start_unix_ns - GPU_TICK_SLACK_NS, err);
}

/* ---- markers ---- */

static int add_marker(struct timeline *run, enum gpu_marker_kind kind, uint32_t process,
                      int64_t time_ns, int64_t bytes, struct error *err)
{
	const struct gpu_marker marker = {
		.time_ms = time_ns / NS_PER_MS,
		.kind = kind,
		.number = process,
		.bytes = bytes,
	};

	if (time_ns < run->range.start_unix_ns || time_ns > run->range.end_unix_ns)
		return 0;
	return gpu_marker_list_add(&run->markers, run->arena, &marker, err);
}

static int mark_process(struct timeline *run, uint32_t number, const struct gpu_moment *peak,
                        struct error *err)
{
	const struct gpu_process *process = &run->roster.processes[number];
	const struct span *span = &run->spans[number];

	if (process->first_ns == span->first_ns &&
	    add_marker(run, GPU_MARKER_START, number, span->first_ns, span->first_bytes, err) < 0)
		return -1;
	if (process->last_ns < run->newest[process->node] &&
	    add_marker(run, GPU_MARKER_EXIT, number, span->last_ns, span->last_bytes, err) < 0)
		return -1;
	if (peak->bytes > 0)
		return add_marker(run, GPU_MARKER_PEAK, number, peak->time_ns, peak->bytes, err);
	return 0;
}

static int make_markers(struct timeline *run, struct gpu_marker_list *out, struct error *err)
{
	const struct gpu_moment *peaks =
		gpu_moments_peaks(&run->moments, gpu_roster_process_count(&run->roster));

	if (!peaks)
		return arena_error(run->arena, err);
	for (uint32_t i = 0; i < run->span_count; i++)
		if (run->roster.processes[i].is_asked && run->spans[i].last_ns != INT64_MIN &&
		    mark_process(run, i, &peaks[i], err) < 0)
			return -1;
	gpu_marker_list_finish(&run->markers);
	for (size_t i = 0; i < run->markers.count; i++) {
		struct gpu_marker *marker = &run->markers.items[i];

		marker->process = gpu_roster_process_id(&run->roster, marker->number);
		if (!marker->process.data)
			return arena_error(run->arena, err);
	}
	*out = run->markers;
	return 0;
}

static int64_t capacity_of(const struct timeline *run)
{
	int64_t sum = run->device_ids.count > 0 ? 0 : GPU_GAP;

	for (size_t i = 0; i < run->device_ids.count; i++)
		sum = gpu_bytes_add(sum, run->devices[i].bytes);
	return sum;
}

int gpu_timeline_make(const struct gpu_question *question,
                      const struct gpu_timeline_options *options, struct gpu_timeline *out,
                      struct error *err)
{
	struct arena *arena = question->query.context.arena;
	struct timeline run = {
		.question = question,
		.arena = arena,
		.range = question->query.range,
		.ticks.arena = arena,
		.moments.arena = arena,
	};

	*out = (struct gpu_timeline){ .step_ms = options->step_ms };
	if (gpu_timeline_steps(question, options->step_ms, &out->start_ms, &out->step_count, err) <
	    0)
		return -1;
	run.grid = (struct gpu_grid){ out->start_ms * NS_PER_MS, options->step_ms * NS_PER_MS,
		                      out->step_count };
	gpu_roster_init(&run.roster, question, GPU_PROCESSES);
	gpu_groups_init(&run.groups, options->by, &run.grid, arena);
	if (scan(&run, err) < 0 || gpu_ticks_finish(&run.ticks, err) < 0 ||
	    find_starts(&run, err) < 0 || make_markers(&run, &out->markers, err) < 0)
		return -1;
	out->capacity_bytes = capacity_of(&run);
	return gpu_groups_finish(&run.groups, &run.roster, &run.ticks, options->top, &out->lines,
	                         err);
}
