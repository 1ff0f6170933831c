#include "server/query/gpu_processes.h"

#include <stdlib.h>

#include "server/query/gpu_moments.h"
#include "server/query/gpu_starts.h"
#include "server/query/gpu_ticks.h"

#define ALL_MEASURES                                                                \
	((GPU_MEASURE_BIT(GPU_OOM_BYTES) - 1) | GPU_MEASURE_BIT(GPU_DEVICE_BYTES) | \
	 GPU_MEASURE_BIT(GPU_DEVICE_USED) | GPU_MEASURE_BIT(GPU_SUSPENDED))
#define SHARES_MAX 256 /* names apart; more are one share: a guess, hosts have 16 GPUs */

/* What a node's profiles are compared with. */
struct node_times {
	bool is_heard;     /* tick_ns is there and fresh */
	bool has_base;     /* base_ns is there and fresh */
	int64_t tick_ns;   /* the state of things at the end */
	int64_t base_ns;   /* and at the start */
	int64_t newest_ns; /* of all ticks in the range, fresh or not */
};

/* Sums of one process. */
struct tally {
	int64_t live_bytes;
	int64_t live_blocks;
	int64_t base_bytes;
	int64_t alloc_bytes;
	int64_t alloc_calls;
	int64_t failures;
	enum gpu_process_state state; /* of one that runs */
	struct gpu_shares by_class;
	struct gpu_shares by_gpu;
};

struct processes {
	struct gpu_roster roster;
	struct gpu_ticks ticks;
	struct arena *arena;
	struct store_range range;

	struct node_times *nodes;
	size_t node_capacity;
	size_t node_count;
	struct tally *tallies;
	size_t tally_capacity;
	size_t tally_count;
	struct gpu_moments moments;
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

static int scan_ticks(struct processes *run, int64_t end_ns, struct error *err)
{
	const struct store_range range = { end_ns - GPU_TICK_SLACK_NS, end_ns };

	gpu_roster_begin_scan(&run->roster);
	return gpu_question_scan(run->roster.question, GPU_TICKING, range, add_tick, run, err);
}

static int find_ticks(struct processes *run, struct error *err)
{
	if (scan_ticks(run, run->range.start_unix_ns, err) < 0 ||
	    scan_ticks(run, run->range.end_unix_ns, err) < 0)
		return -1;
	return gpu_ticks_finish(&run->ticks, err);
}

/* ---- everything in the range ---- */

static int need_node(struct processes *run, uint32_t node, struct error *err)
{
	while (node >= run->node_capacity)
		if (!arena_grow(run->arena, (void **)&run->nodes, sizeof(*run->nodes),
		                &run->node_capacity))
			return arena_error(run->arena, err);
	for (; run->node_count <= node; run->node_count++) {
		struct node_times *times = &run->nodes[run->node_count];

		*times = (struct node_times){ .newest_ns = INT64_MIN };
		times->is_heard = gpu_ticks_at(&run->ticks, (uint32_t)run->node_count,
		                               run->range.end_unix_ns, &times->tick_ns);
		times->has_base = gpu_ticks_at(&run->ticks, (uint32_t)run->node_count,
		                               run->range.start_unix_ns, &times->base_ns);
	}
	return 0;
}

static int need_tally(struct processes *run, uint32_t process, struct error *err)
{
	while (process >= run->tally_capacity)
		if (!arena_grow(run->arena, (void **)&run->tallies, sizeof(*run->tallies),
		                &run->tally_capacity))
			return arena_error(run->arena, err);
	for (; run->tally_count <= process; run->tally_count++)
		run->tallies[run->tally_count] = (struct tally){ 0 };
	return 0;
}

static int add_share(struct arena *arena, struct gpu_shares *shares, struct str name, int64_t bytes,
                     struct error *err)
{
	size_t at = 0;

	if (shares->count >= SHARES_MAX)
		name = STR("other");
	while (at < shares->count && str_compare(shares->items[at].name, name) < 0)
		at++;
	if (at < shares->count && str_equal(shares->items[at].name, name)) {
		shares->items[at].bytes = gpu_bytes_add(shares->items[at].bytes, bytes);
		return 0;
	}
	if (!ARENA_GROW(arena, shares->items, shares->count, shares->capacity))
		return arena_error(arena, err);
	memmove(&shares->items[at + 1], &shares->items[at],
	        (shares->count - at) * sizeof(*shares->items));
	shares->items[at] = (struct gpu_share){ name, bytes };
	shares->count++;
	return 0;
}

static int add_live(struct processes *run, const struct gpu_role *role,
                    const struct store_point *point, struct error *err)
{
	const struct node_times *node = &run->nodes[role->node];
	struct tally *tally = &run->tallies[role->process];
	const bool is_now = node->is_heard && point->time_unix_ns == node->tick_ns;

	if (is_now &&
	    add_share(run->arena, &tally->by_class, role->memory_class, point->total, err) < 0)
		return -1;
	if (!role->is_counted)
		return 0;
	if (is_now) {
		tally->live_bytes = gpu_bytes_add(tally->live_bytes, point->total);
		if (add_share(run->arena, &tally->by_gpu, role->gpu, point->total, err) < 0)
			return -1;
	}
	if (node->has_base && point->time_unix_ns == node->base_ns)
		tally->base_bytes = gpu_bytes_add(tally->base_bytes, point->total);
	return 0;
}

/* Whether a profile of an interval belongs to the range. */
static bool is_behind_base(const struct node_times *node, int64_t time_ns, int64_t start_ns)
{
	return time_ns > (node->has_base ? node->base_ns : start_ns);
}

static enum gpu_process_state suspended_state(const struct gpu_role *role)
{
	return str_equals(label_set_value(&role->labels, STR("state")), "checkpointed")
	               ? GPU_PROCESS_CHECKPOINTED
	               : GPU_PROCESS_LOCKED;
}

static int add_measure(struct processes *run, const struct gpu_role *role,
                       const struct store_point *point, struct error *err)
{
	const struct node_times *node = &run->nodes[role->node];
	struct tally *tally = &run->tallies[role->process];
	const bool is_inside = is_behind_base(node, point->time_unix_ns, run->range.start_unix_ns);

	switch (role->measure) {
	case GPU_LIVE_BYTES:
		if (add_live(run, role, point, err) < 0)
			return -1;
		if (!role->is_counted || point->time_unix_ns < run->range.start_unix_ns)
			return 0;
		return gpu_moments_add(&run->moments, role, point, err);
	case GPU_LIVE_BLOCKS:
		if (role->is_counted && node->is_heard && point->time_unix_ns == node->tick_ns)
			tally->live_blocks = gpu_bytes_add(tally->live_blocks, point->total);
		return 0;
	case GPU_ALLOC_BYTES:
		if (role->is_counted && is_inside)
			tally->alloc_bytes = gpu_bytes_add(tally->alloc_bytes, point->total);
		return 0;
	case GPU_ALLOC_CALLS:
		if (role->is_counted && is_inside)
			tally->alloc_calls = gpu_bytes_add(tally->alloc_calls, point->total);
		return 0;
	case GPU_FAILURES:
		if (is_inside)
			tally->failures = gpu_bytes_add(tally->failures, point->total);
		return 0;
	case GPU_PEAK_BYTES:
		if (!role->is_counted || point->time_unix_ns < run->range.start_unix_ns)
			return 0;
		return gpu_moments_add(&run->moments, role, point, err);
	case GPU_SUSPENDED:
		if (node->is_heard && point->time_unix_ns == node->tick_ns)
			tally->state = suspended_state(role);
		return 0;
	default:
		return 0;
	}
}

/* What a device says, or what is live on one, at the newest tick. */
static int add_to_device(struct processes *run, const struct gpu_role *role,
                         const struct store_point *point, enum gpu_device_value which,
                         struct error *err)
{
	const struct node_times *node = &run->nodes[role->node];

	if (!node->is_heard || point->time_unix_ns != node->tick_ns)
		return 0;
	return gpu_devices_add(&run->devices, run->arena, run->roster.nodes[role->node].hostname,
	                       role->gpu, which, point->total, err);
}

static int add_device(struct processes *run, const struct gpu_role *role,
                      const struct store_point *point, struct error *err)
{
	if (!gpu_question_asks_device(run->roster.question, &role->labels))
		return 0;
	return add_to_device(run, role, point,
	                     role->measure == GPU_DEVICE_USED ? GPU_DEVICE_VALUE_USED
	                                                      : GPU_DEVICE_VALUE_TOTAL,
	                     err);
}

static int add_point(void *context, const struct store_point *point, struct error *err)
{
	struct processes *run = context;
	const struct gpu_role *role = gpu_roster_role(&run->roster, point, err);
	struct gpu_process *process;

	if (!role)
		return -1;
	if (role->measure == GPU_MEASURE_COUNT)
		return 0;
	if (need_node(run, role->node, err) < 0)
		return -1;
	if (gpu_measure_is_of_device(role->measure))
		return add_device(run, role, point, err);
	if (role->measure == GPU_LIVE_BYTES && gpu_class_is_on_device(role->memory_class) &&
	    add_to_device(run, role, point, GPU_DEVICE_VALUE_LIVE, err) < 0)
		return -1;
	if (gpu_role_ticks(role) && point->time_unix_ns > run->nodes[role->node].newest_ns)
		run->nodes[role->node].newest_ns = point->time_unix_ns;
	if (role->process == GPU_NOBODY || need_tally(run, role->process, err) < 0)
		return role->process == GPU_NOBODY ? 0 : -1;
	process = &run->roster.processes[role->process];
	if (gpu_role_ticks(role))
		gpu_process_see(process, point->time_unix_ns);
	if (gpu_role_ticks(role) && point->time_unix_ns > process->last_ns)
		process->last_ns = point->time_unix_ns;
	return role->is_asked ? add_measure(run, role, point, err) : 0;
}

static int scan_all(struct processes *run, struct error *err)
{
	const struct store_range range = {
		run->range.start_unix_ns - GPU_TICK_SLACK_NS,
		run->range.end_unix_ns,
	};

	gpu_roster_begin_scan(&run->roster);
	return gpu_question_scan(run->roster.question, ALL_MEASURES, range, add_point, run, err);
}

/* ---- rows ---- */

static void make_row(const struct processes *run, uint32_t number, struct gpu_process_row *row)
{
	const struct gpu_process *process = &run->roster.processes[number];
	const struct node_times *node = &run->nodes[process->node];
	const struct tally *tally = &run->tallies[number];
	const int64_t growth = gpu_bytes_subtract(tally->live_bytes, tally->base_bytes);
	const int64_t freed = gpu_bytes_subtract(tally->alloc_bytes, growth);

	*row = (struct gpu_process_row){
		.id = gpu_roster_process_id(&run->roster, number),
		.labels = process->labels,
		.first_ms = process->first_ns / NS_PER_MS,
		.last_ms = process->last_ns / NS_PER_MS,
		.live_bytes = tally->live_bytes,
		.live_blocks = tally->live_blocks,
		.by_class = tally->by_class,
		.by_gpu = tally->by_gpu,
		/* calls that nobody saw, in a gap, must not make it negative */
		.freed_bytes = freed > 0 ? freed : 0,
		.growth_bytes = growth,
		.peak_bytes = run->peaks[number].bytes,
		.peak_ms = run->peaks[number].time_ns / NS_PER_MS,
		.alloc_bytes = tally->alloc_bytes,
		.alloc_calls = tally->alloc_calls,
		.failures = tally->failures,
	};
	row->knows_change = node->has_base || process->first_ns >= run->range.start_unix_ns;
	if (process->last_ns < node->newest_ns)
		row->state = GPU_PROCESS_EXITED;
	else
		row->state = node->is_heard ? tally->state : GPU_PROCESS_UNSEEN;
}

struct sorted_row {
	int64_t key;
	struct gpu_process_row row;
};

static int64_t key_of(const struct gpu_process_row *row, enum gpu_process_order order)
{
	switch (order) {
	case GPU_PROCESS_BY_PEAK:
		return row->peak_bytes;
	case GPU_PROCESS_BY_ALLOC:
		return row->alloc_bytes;
	case GPU_PROCESS_BY_FREED:
		return row->freed_bytes;
	case GPU_PROCESS_BY_GROWTH:
		return row->growth_bytes;
	case GPU_PROCESS_BY_FAILURES:
		return row->failures;
	case GPU_PROCESS_BY_FIRST:
		return row->first_ms;
	case GPU_PROCESS_BY_LAST:
		return row->last_ms;
	default:
		return row->live_bytes;
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct sorted_row *a = left;
	const struct sorted_row *b = right;
	const int order = (b->key > a->key) - (b->key < a->key);
	const int second = order ? order : str_compare(a->row.id, b->row.id);

	return second ? second : label_set_compare(&a->row.labels, &b->row.labels);
}

static int sort_rows(const struct processes *run, enum gpu_process_order order, size_t limit,
                     struct gpu_process_list *out, struct error *err)
{
	const size_t most = run->tally_count + 1;
	struct sorted_row *sorted = arena_array(run->arena, most, sizeof(*sorted));
	size_t count = 0;

	out->rows = arena_array(run->arena, most, sizeof(*out->rows));
	if (!sorted || !out->rows)
		return arena_error(run->arena, err);
	for (uint32_t i = 0; i < run->tally_count; i++) {
		const struct gpu_process *process = &run->roster.processes[i];

		/* what ended before the range was only looked at for its node's sake */
		if (!process->is_asked || process->last_ns < run->range.start_unix_ns)
			continue;
		make_row(run, i, &sorted[count].row);
		if (!sorted[count].row.id.data)
			return arena_error(run->arena, err);
		sorted[count].key = key_of(&sorted[count].row, order);
		count++;
	}
	if (count > 1)
		qsort(sorted, count, sizeof(*sorted), compare_rows);
	out->count = count < limit ? count : limit;
	for (size_t i = 0; i < out->count; i++)
		out->rows[i] = sorted[i].row;
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
		.moments.arena = question->query.context.arena,
	};

	*out = (struct gpu_process_list){ 0 };
	gpu_roster_init(&run.roster, question);
	if (find_ticks(&run, err) < 0 || scan_all(&run, err) < 0)
		return -1;
	run.peaks = gpu_moments_peaks(&run.moments, run.tally_count);
	if (!run.peaks)
		return arena_error(run.arena, err);
	if (gpu_starts_find(&run.roster, run.range.start_unix_ns - GPU_TICK_SLACK_NS, err) < 0)
		return -1;
	find_newest(&run, out);
	gpu_devices_finish(&run.devices);
	out->devices = run.devices;
	return sort_rows(&run, order, limit, out, err);
}
