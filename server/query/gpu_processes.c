#include "server/query/gpu_processes.h"

#include <stdlib.h>

#include "server/query/gpu_starts.h"
#include "server/query/gpu_ticks.h"

/* What is told of processes, and what devices say and hold. */
#define OF_PROCESSES ((GPU_MEASURE_BIT(GPU_OOM_BYTES) - 1) | GPU_MEASURE_BIT(GPU_SUSPENDED))
#define OF_DEVICES                                                             \
	(GPU_MEASURE_BIT(GPU_LIVE_BYTES) | GPU_MEASURE_BIT(GPU_DEVICE_BYTES) | \
	 GPU_MEASURE_BIT(GPU_DEVICE_USED))

struct processes {
	struct gpu_roster roster;
	struct gpu_ticks ticks;
	struct arena *arena;
	struct store_range range;

	struct gpu_node_times *nodes;
	size_t node_capacity;
	size_t node_count;
	struct gpu_tallies tallies; /* by process */
	struct gpu_devices devices;
	const struct gpu_moment *peaks; /* by process */
};

/* ---- ticks around both ends of the range ---- */

static int add_tick(void *context, const struct store_point *point, struct error *err)
{
	struct processes *run = context;
	const struct gpu_role *role = gpu_roster_role(&run->roster, point, err);

	if (!role)
		return -1;
	if (!gpu_role_ticks(role))
		return 0;
	return gpu_ticks_add(&run->ticks, role->node, point->time_unix_ns, err);
}

static int scan(struct processes *run, const struct gpu_read *read, store_point_visitor visit,
                struct error *err)
{
	gpu_roster_begin_scan(&run->roster);
	return gpu_question_scan(run->roster.question, read, visit, run, err);
}

static int scan_ticks(struct processes *run, int64_t end_ns, struct error *err)
{
	const struct gpu_read read = {
		.measures = GPU_TICKING,
		.scope = GPU_WHOLE_NODES,
		.range = { end_ns - GPU_TICK_SLACK_NS, end_ns },
	};

	return scan(run, &read, add_tick, err);
}

static int need_node(struct processes *run, uint32_t node, struct error *err)
{
	while (node >= run->node_capacity)
		if (!arena_grow(run->arena, (void **)&run->nodes, sizeof(*run->nodes),
		                &run->node_capacity))
			return arena_error(run->arena, err);
	for (; run->node_count <= node; run->node_count++) {
		struct gpu_node_times *times = &run->nodes[run->node_count];

		*times = (struct gpu_node_times){
			.newest_ns = gpu_ticks_newest(&run->ticks, (uint32_t)run->node_count),
		};
		times->is_heard = gpu_ticks_at(&run->ticks, (uint32_t)run->node_count,
		                               run->range.end_unix_ns, &times->tick_ns);
		times->has_base = gpu_ticks_at(&run->ticks, (uint32_t)run->node_count,
		                               run->range.start_unix_ns, &times->base_ns);
	}
	return 0;
}

static int find_ticks(struct processes *run, struct error *err)
{
	if (scan_ticks(run, run->range.start_unix_ns, err) < 0 ||
	    scan_ticks(run, run->range.end_unix_ns, err) < 0 ||
	    gpu_ticks_finish(&run->ticks, err) < 0)
		return -1;
	for (uint32_t node = 0; node < gpu_roster_node_count(&run->roster); node++)
		if (need_node(run, node, err) < 0)
			return -1;
	return 0;
}

static void see_tick(struct gpu_node_times *node, int64_t time_ns)
{
	if (time_ns > node->newest_ns)
		node->newest_ns = time_ns;
}

/* ---- what is asked for, in the range ---- */

static int add_point(void *context, const struct store_point *point, struct error *err)
{
	struct processes *run = context;
	const struct gpu_role *role = gpu_roster_role(&run->roster, point, err);

	if (!role)
		return -1;
	if (role->measure == GPU_MEASURE_COUNT || role->process == GPU_NOBODY)
		return 0;
	if (need_node(run, role->node, err) < 0)
		return -1;
	if (gpu_role_ticks(role)) {
		struct gpu_process *process = &run->roster.processes[role->process];

		see_tick(&run->nodes[role->node], point->time_unix_ns);
		gpu_process_see(process, point->time_unix_ns);
		if (point->time_unix_ns > process->last_ns)
			process->last_ns = point->time_unix_ns;
	}
	return gpu_tallies_add(&run->tallies, &run->nodes[role->node], role, point, err);
}

static int scan_processes(struct processes *run, struct error *err)
{
	const struct gpu_read read = {
		.measures = OF_PROCESSES,
		.scope = GPU_PROCESSES,
		.range = { run->range.start_unix_ns - GPU_TICK_SLACK_NS, run->range.end_unix_ns },
	};

	return scan(run, &read, add_point, err);
}

/* ---- what devices say, and what all processes hold on them ---- */

static int add_to_device(struct processes *run, const struct gpu_role *role,
                         const struct store_point *point, enum gpu_device_value which,
                         struct error *err)
{
	const struct gpu_node_times *node;

	if (need_node(run, role->node, err) < 0)
		return -1;
	node = &run->nodes[role->node];
	if (!node->is_heard || point->time_unix_ns != node->tick_ns)
		return 0;
	return gpu_devices_add(&run->devices, run->arena, run->roster.nodes[role->node].hostname,
	                       role->gpu, which, point->total, err);
}

static int add_device(void *context, const struct store_point *point, struct error *err)
{
	struct processes *run = context;
	const struct gpu_role *role = gpu_roster_role(&run->roster, point, err);

	if (!role)
		return -1;
	if (role->measure == GPU_LIVE_BYTES)
		return gpu_class_is_on_device(role->memory_class)
		               ? add_to_device(run, role, point, GPU_DEVICE_VALUE_LIVE, err)
		               : 0;
	if (!gpu_measure_is_of_device(role->measure) ||
	    !gpu_question_asks_device(run->roster.question, point->labels))
		return 0;
	return add_to_device(run, role, point,
	                     role->measure == GPU_DEVICE_USED ? GPU_DEVICE_VALUE_USED
	                                                      : GPU_DEVICE_VALUE_TOTAL,
	                     err);
}

/* From the oldest tick that any node stands at; nodes that are not heard say nothing. */
static int scan_devices(struct processes *run, struct error *err)
{
	struct gpu_read read = {
		.measures = OF_DEVICES,
		.scope = GPU_WHOLE_NODES,
		.range = { INT64_MAX, run->range.end_unix_ns },
	};

	for (size_t i = 0; i < run->node_count; i++)
		if (run->nodes[i].is_heard && run->nodes[i].tick_ns < read.range.start_unix_ns)
			read.range.start_unix_ns = run->nodes[i].tick_ns;
	return read.range.start_unix_ns == INT64_MAX ? 0 : scan(run, &read, add_device, err);
}

/* ---- nodes that fell silent within the range ---- */

static int add_newest(void *context, const struct store_point *point, struct error *err)
{
	struct processes *run = context;
	const struct gpu_role *role = gpu_roster_role(&run->roster, point, err);

	if (!role)
		return -1;
	if (!gpu_role_ticks(role))
		return 0;
	if (need_node(run, role->node, err) < 0)
		return -1;
	see_tick(&run->nodes[role->node], point->time_unix_ns);
	return 0;
}

/* Whether the ticks around both ends leave a node's newest one open that matters. */
static bool misses_newest(const struct processes *run, int64_t end_ns)
{
	bool any = false;

	for (size_t i = 0; i < run->node_count; i++)
		any |= run->nodes[i].newest_ns >= end_ns;
	for (size_t i = 0; i < run->tallies.count; i++) {
		const struct gpu_process *process = &run->roster.processes[i];

		if (process->is_asked && run->nodes[process->node].newest_ns < end_ns)
			return true;
	}
	return !any;
}

/* Reads the ticks of whole nodes over the range, which is seldom needed. */
static int scan_silence(struct processes *run, struct error *err)
{
	const struct gpu_read read = {
		.measures = GPU_TICKING,
		.scope = GPU_WHOLE_NODES,
		.range = { run->range.start_unix_ns, run->range.end_unix_ns - GPU_TICK_SLACK_NS },
	};

	if (read.range.start_unix_ns > read.range.end_unix_ns ||
	    !misses_newest(run, read.range.end_unix_ns))
		return 0;
	return scan(run, &read, add_newest, err);
}

/* ---- rows ---- */

static int64_t key_of(const struct processes *run, uint32_t number, enum gpu_process_order order)
{
	const struct gpu_process *process = &run->roster.processes[number];
	const struct gpu_tally *tally = &run->tallies.items[number];

	switch (order) {
	case GPU_PROCESS_BY_PEAK:
		return run->peaks[number].bytes;
	case GPU_PROCESS_BY_ALLOC:
		return tally->alloc_bytes;
	case GPU_PROCESS_BY_FREED:
		return gpu_tally_freed(tally);
	case GPU_PROCESS_BY_GROWTH:
		return gpu_tally_growth(tally);
	case GPU_PROCESS_BY_FAILURES:
		return tally->failures;
	case GPU_PROCESS_BY_FIRST:
		return process->first_ns;
	case GPU_PROCESS_BY_LAST:
		return process->last_ns;
	default:
		return tally->live_bytes;
	}
}

static enum gpu_process_state state_of(const struct processes *run, uint32_t number)
{
	const struct gpu_process *process = &run->roster.processes[number];
	const struct gpu_node_times *node = &run->nodes[process->node];

	if (process->last_ns < node->newest_ns)
		return GPU_PROCESS_EXITED;
	return node->is_heard ? run->tallies.items[number].state : GPU_PROCESS_UNSEEN;
}

static int make_row(const struct processes *run, uint32_t number, struct gpu_process_row *row,
                    struct error *err)
{
	const struct gpu_process *process = &run->roster.processes[number];
	const struct gpu_node_times *node = &run->nodes[process->node];
	const struct gpu_tally *tally = &run->tallies.items[number];

	*row = (struct gpu_process_row){
		.id = gpu_roster_process_id(&run->roster, number),
		.labels = process->labels,
		.state = state_of(run, number),
		.first_ms = process->first_ns / NS_PER_MS,
		.last_ms = process->last_ns / NS_PER_MS,
		.live_bytes = tally->live_bytes,
		.live_blocks = tally->live_blocks,
		.by_class = tally->by_class,
		.by_gpu = tally->by_gpu,
		.knows_change = node->has_base || process->first_ns >= run->range.start_unix_ns,
		.freed_bytes = gpu_tally_freed(tally),
		.growth_bytes = gpu_tally_growth(tally),
		.peak_bytes = run->peaks[number].bytes,
		.peak_ms = run->peaks[number].time_ns / NS_PER_MS,
		.alloc_bytes = tally->alloc_bytes,
		.alloc_calls = tally->alloc_calls,
		.failures = tally->failures,
	};
	return row->id.data ? 0 : arena_error(run->arena, err);
}

/* ---- which rows ---- */

/* Of a row what its place depends on: ids are of those only that are shown. */
struct candidate {
	int64_t key;
	uint32_t number;
	struct str hostname;
	struct str name;
	const struct label_set *labels;
};

struct candidates {
	struct candidate *items;
	uint32_t *numbers; /* of the items that gpu_starts_find() looks for */
	size_t count;
};

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left;
	const struct candidate *b = right;
	int order = (b->key > a->key) - (b->key < a->key);

	if (order == 0)
		order = str_compare(a->hostname, b->hostname);
	if (order == 0)
		order = str_compare(a->name, b->name);
	return order ? order : label_set_compare(a->labels, b->labels);
}

static int find_candidates(const struct processes *run, struct candidates *out, struct error *err)
{
	out->items = arena_array(run->arena, run->tallies.count + 1, sizeof(*out->items));
	out->numbers = arena_array(run->arena, run->tallies.count + 1, sizeof(*out->numbers));
	if (!out->items || !out->numbers)
		return arena_error(run->arena, err);
	for (uint32_t i = 0; i < run->tallies.count; i++) {
		const struct gpu_process *process = &run->roster.processes[i];

		/* what ended before the range was only looked at for the base's sake */
		if (!process->is_asked || process->last_ns < run->range.start_unix_ns)
			continue;
		out->items[out->count++] = (struct candidate){
			.number = i,
			.hostname = run->roster.nodes[process->node].hostname,
			.name = gpu_roster_process_name(&run->roster, i),
			.labels = &process->labels,
		};
	}
	return 0;
}

static void sort_candidates(const struct processes *run, enum gpu_process_order order, size_t limit,
                            struct candidates *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		rows->items[i].key = key_of(run, rows->items[i].number, order);
	if (rows->count > 1)
		qsort(rows->items, rows->count, sizeof(*rows->items), compare_candidates);
	if (rows->count > limit)
		rows->count = limit;
}

static int find_starts(struct processes *run, struct candidates *rows, struct error *err)
{
	for (size_t i = 0; i < rows->count; i++)
		rows->numbers[i] = rows->items[i].number;
	return gpu_starts_find(&run->roster, rows->numbers, rows->count,
	                       run->range.start_unix_ns - GPU_TICK_SLACK_NS, err);
}

/* Since when all are there must be known only where that is what they are sorted by. */
static int choose_rows(struct processes *run, enum gpu_process_order order, size_t limit,
                       struct candidates *rows, struct error *err)
{
	if (find_candidates(run, rows, err) < 0)
		return -1;
	if (order == GPU_PROCESS_BY_FIRST) {
		if (find_starts(run, rows, err) < 0)
			return -1;
		sort_candidates(run, order, limit, rows);
		return 0;
	}
	sort_candidates(run, order, limit, rows);
	return find_starts(run, rows, err);
}

static int make_rows(struct processes *run, const struct candidates *rows,
                     struct gpu_process_list *out, struct error *err)
{
	out->rows = arena_array(run->arena, rows->count + 1, sizeof(*out->rows));
	if (!out->rows)
		return arena_error(run->arena, err);
	for (; out->count < rows->count; out->count++)
		if (make_row(run, rows->items[out->count].number, &out->rows[out->count], err) < 0)
			return -1;
	return 0;
}

static void find_newest(const struct processes *run, struct gpu_process_list *out)
{
	int64_t newest_ns = INT64_MIN;

	for (size_t i = 0; i < run->node_count; i++) {
		if (run->nodes[i].newest_ns <= newest_ns)
			continue;
		newest_ns = run->nodes[i].newest_ns;
		out->any = true;
		out->tick_ms = newest_ns / NS_PER_MS;
		out->interval_ms = gpu_ticks_interval_ns(&run->ticks, (uint32_t)i) / NS_PER_MS;
	}
}

int gpu_processes_list(const struct gpu_question *question, enum gpu_process_order order,
                       size_t limit, struct gpu_process_list *out, struct error *err)
{
	struct processes run = {
		.arena = question->query.context.arena,
		.range = question->query.range,
		.ticks.arena = question->query.context.arena,
	};

	struct candidates rows = { 0 };

	*out = (struct gpu_process_list){ 0 };
	gpu_roster_init(&run.roster, question, GPU_PROCESSES);
	gpu_tallies_init(&run.tallies, run.arena, run.range.start_unix_ns);
	if (find_ticks(&run, err) < 0 || scan_processes(&run, err) < 0 ||
	    scan_devices(&run, err) < 0 || scan_silence(&run, err) < 0)
		return -1;
	run.peaks = gpu_moments_peaks(&run.tallies.moments, run.tallies.count);
	if (!run.peaks)
		return arena_error(run.arena, err);
	find_newest(&run, out);
	gpu_devices_finish(&run.devices);
	out->devices = run.devices;
	if (choose_rows(&run, order, limit, &rows, err) < 0)
		return -1;
	return make_rows(&run, &rows, out, err);
}
