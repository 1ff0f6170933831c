#include "server/query/gpu_growth.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "server/query/gpu_moments.h"
#include "server/query/gpu_roster.h"
#include "server/query/gpu_starts.h"
#include "server/query/gpu_tick_spans.h"

static const struct {
	const char *name;
	int64_t ns;
} floors[GPU_FLOOR_COUNT] = {
	[GPU_FLOOR_1M] = { "1m", 60 * NS_PER_S },
	[GPU_FLOOR_10M] = { "10m", 600 * NS_PER_S },
	[GPU_FLOOR_1H] = { "1h", 3600 * NS_PER_S },
	[GPU_FLOOR_6H] = { "6h", 6 * 3600 * NS_PER_S },
};

_Static_assert(GPU_FLOOR_COUNT == GPU_LOOKBACKS_MAX, "one lookback a floor");

const char *gpu_floor_name(enum gpu_floor floor)
{
	return floors[floor].name;
}

/* One stack on one node. */
struct row {
	uint32_t node;
	uint32_t stack;
	int64_t start_bytes;
	int64_t end_bytes;
	int64_t floor[GPU_FLOOR_COUNT];
	int64_t *values; /* at the ticks of the piece at hand */
};

/* What is known of a node as a whole. */
struct node_state {
	bool is_asked;
	bool began_later; /* all that is asked for on it came behind the range's start */
	bool is_seen[GPU_FLOOR_COUNT];
};

struct growth {
	struct gpu_question *question;
	struct arena *arena;
	struct gpu_roster roster;
	struct gpu_ticks ticks;
	struct gpu_tick_spans spans;
	struct gpu_stacks stacks;
	uint32_t process; /* the one that is asked for; GPU_NOBODY: whoever is */

	struct node_state *nodes;
	struct intern row_ids; /* (node, stack) */
	struct row *rows;
	size_t row_capacity;
};

/* ---- ticks ---- */

static int add_tick(void *context, const struct store_point *point, struct error *err)
{
	struct growth *run = context;
	const struct gpu_role *role = gpu_roster_role(&run->roster, point, err);

	if (!role)
		return -1;
	if (!gpu_role_ticks(role))
		return 0;
	if (role->process != GPU_NOBODY)
		gpu_process_see(&run->roster.processes[role->process], point->time_unix_ns);
	return gpu_ticks_add(&run->ticks, role->node, point->time_unix_ns, err);
}

static int scan_ticks(struct growth *run, struct store_range range, struct error *err)
{
	const struct gpu_read read = { GPU_TICKING, GPU_WHOLE_NODES, range, { NULL, 0 } };

	gpu_roster_begin_scan(&run->roster);
	return gpu_question_scan(run->question, &read, add_tick, run, err);
}

/* Since when the longest floor counts. */
static int64_t floor_start(const struct gpu_question *question)
{
	return question->query.range.end_unix_ns - floors[GPU_FLOOR_COUNT - 1].ns;
}

/* Those around the start, and those of the longest floor. */
static int find_ticks(struct growth *run, struct error *err)
{
	const struct store_range asked = run->question->query.range;
	int64_t lookback_ns[GPU_LOOKBACKS_MAX];

	for (size_t i = 0; i < GPU_FLOOR_COUNT; i++)
		lookback_ns[i] = floors[i].ns;
	if (scan_ticks(run,
	               (struct store_range){ asked.start_unix_ns - GPU_TICK_SLACK_NS,
	                                     asked.start_unix_ns },
	               err) < 0 ||
	    scan_ticks(run,
	               (struct store_range){ floor_start(run->question) - GPU_TICK_SLACK_NS,
	                                     asked.end_unix_ns },
	               err) < 0 ||
	    gpu_ticks_finish(&run->ticks, err) < 0)
		return -1;
	return gpu_tick_spans_init(&run->spans, &run->ticks, asked, lookback_ns, err);
}

/* ---- who is asked for ---- */

static int refuse_process(struct str id, struct error *err)
{
	return error_set(err, ERROR_NOT_FOUND, "there is no process '%.*s' in that time",
	                 STR_ARGS(str_first(id, 128)));
}

/* An id begins with the node: others are not even read. */
static int narrow_to_node(struct gpu_question *question, struct str id, struct error *err)
{
	const ptrdiff_t colon = str_index(id, ':');

	if (id.length == 0)
		return 0;
	if (colon < 0)
		return error_set(err, ERROR_NOT_FOUND,
		                 "there is no process '%.*s': HOST:PID:FIRST_MS is expected, as "
		                 "/api/gpu/processes tells it",
		                 STR_ARGS(str_first(id, 128)));
	return selector_add_equal(&question->asked, STR("hostname"), str_first(id, (size_t)colon),
	                          err);
}

/* Whether an id begins with node and name of a process. */
static bool may_be(const struct growth *run, uint32_t process, struct str id)
{
	const struct str hostname = run->roster.nodes[run->roster.processes[process].node].hostname;
	const struct str name = gpu_roster_process_name(&run->roster, process);

	return id.length > hostname.length + 1 + name.length && str_starts_with(id, hostname) &&
	       str_starts_with(str_skip(id, hostname.length + 1), name);
}

/* Since when those that the question is about are there. */
static int find_starts(struct growth *run, struct str id, struct error *err)
{
	const size_t count = gpu_roster_process_count(&run->roster);
	uint32_t *wanted = arena_array_raw(run->arena, count + 1, sizeof(*wanted));
	size_t wanted_count = 0;

	if (!wanted)
		return arena_error(run->arena, err);
	for (uint32_t i = 0; i < count; i++)
		if (run->roster.processes[i].is_asked && (id.length == 0 || may_be(run, i, id)))
			wanted[wanted_count++] = i;
	return gpu_starts_find(&run->roster, wanted, wanted_count,
	                       floor_start(run->question) - GPU_TICK_SLACK_NS, err);
}

static int find_process(struct growth *run, struct str id, struct error *err)
{
	const size_t count = gpu_roster_process_count(&run->roster);

	run->process = GPU_NOBODY;
	if (id.length == 0)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		struct str name;

		if (!run->roster.processes[i].is_asked || !may_be(run, i, id))
			continue;
		name = gpu_roster_process_id(&run->roster, i);
		if (!name.data)
			return arena_error(run->arena, err);
		if (str_equal(name, id))
			run->process = i;
	}
	return run->process == GPU_NOBODY ? refuse_process(id, err) : 0;
}

static bool asks_process(const struct growth *run, uint32_t process)
{
	return run->roster.processes[process].is_asked &&
	       (run->process == GPU_NOBODY || run->process == process);
}

static int judge_nodes(struct growth *run, struct error *err)
{
	const int64_t start_ns = run->question->query.range.start_unix_ns;
	const size_t count = gpu_roster_node_count(&run->roster);

	run->nodes = arena_array(run->arena, count + 1, sizeof(*run->nodes));
	if (!run->nodes)
		return arena_error(run->arena, err);
	for (size_t i = 0; i < count; i++)
		run->nodes[i].began_later = true;
	for (uint32_t i = 0; i < gpu_roster_process_count(&run->roster); i++) {
		const struct gpu_process *process = &run->roster.processes[i];

		if (!asks_process(run, i))
			continue;
		run->nodes[process->node].is_asked = true;
		run->nodes[process->node].began_later &= process->first_ns >= start_ns;
	}
	return 0;
}

/* ---- samples ---- */

/* The row, made when it is new; NULL: the arena is full. */
static struct row *find_row(struct growth *run, uint32_t node, uint32_t stack)
{
	bool is_new;
	const uint32_t number = intern_add(&run->row_ids, run->arena,
	                                   intern_pair(run->roster.secret, node, stack), &is_new);
	struct row *row;

	if (number == INTERN_NONE ||
	    (is_new && !ARENA_GROW(run->arena, run->rows, number, run->row_capacity)))
		return NULL;
	row = &run->rows[number];
	if (!is_new)
		return row;
	*row = (struct row){ .node = node, .stack = stack };
	row->values = arena_array(run->arena, GPU_PIECE_TICKS, sizeof(*row->values));
	if (!row->values)
		return NULL;
	/* at the ticks of earlier pieces it held nothing */
	for (size_t i = 0; i < GPU_FLOOR_COUNT; i++)
		row->floor[i] = run->nodes[node].is_seen[i] ? 0 : INT64_MAX;
	return row;
}

/* The node of a series of live bytes that counts, or GPU_NOBODY. */
static uint32_t node_of(const struct growth *run, const struct label_set *labels)
{
	const struct str *memory_class = label_set_find(labels, STR("cuda_class"));
	const uint32_t process = gpu_roster_find(&run->roster, labels);

	if (process == GPU_NOBODY || gpu_measure_of(labels) != GPU_LIVE_BYTES ||
	    !gpu_question_asks(run->question, labels) || !asks_process(run, process))
		return GPU_NOBODY;
	if (!run->roster.names_class && memory_class && !gpu_class_is_on_device(*memory_class))
		return GPU_NOBODY;
	return run->roster.processes[process].node;
}

static int add_samples(void *context, const struct store_samples *samples, struct error *err)
{
	struct growth *run = context;
	const uint32_t node = node_of(run, samples->labels);
	ptrdiff_t at;

	if (node == GPU_NOBODY)
		return 0;
	at = gpu_tick_spans_find(&run->spans, node, samples->time_unix_ns);
	for (size_t i = 0; at >= 0 && i < samples->count; i++) {
		const uint32_t stack = gpu_stacks_node(&run->stacks, samples, samples->stacks[i]);
		struct row *row = stack == FUNCTION_TREE_NONE ? NULL : find_row(run, node, stack);

		if (!row)
			return arena_error(run->arena, err);
		row->values[at] = gpu_bytes_add(row->values[at], samples->values[i]);
	}
	return 0;
}

/* What a row held at one tick. */
static void take_value(struct row *row, const struct gpu_tick_span *span, size_t tick,
                       int64_t value)
{
	if (span->has_start && tick == span->start)
		row->start_bytes = value;
	if (span->has_end && tick == span->end)
		row->end_bytes = value;
	for (size_t i = 0; i < GPU_FLOOR_COUNT; i++)
		if (tick >= span->from[i] && value < row->floor[i])
			row->floor[i] = value;
}

/* The piece at hand is read: its ticks are told to each row. */
static void finish_piece(struct growth *run)
{
	for (size_t i = 0; i < run->row_ids.count; i++) {
		struct row *row = &run->rows[i];
		const struct gpu_tick_span *span = &run->spans.nodes[row->node];

		for (size_t tick = span->first; tick < span->past; tick++)
			take_value(row, span, tick, row->values[tick - span->first]);
		memset(row->values, 0, GPU_PIECE_TICKS * sizeof(*row->values));
	}
	for (size_t i = 0; i < run->spans.node_count; i++) {
		const struct gpu_tick_span *span = &run->spans.nodes[i];

		for (size_t j = 0; j < GPU_FLOOR_COUNT; j++)
			run->nodes[i].is_seen[j] |= span->past > span->first &&
			                            span->past > span->from[j];
	}
}

/* Everything that the question asks for; whoever is of one process, by its labels. */
static int make_selector(struct growth *run, struct selector *out, struct error *err)
{
	static const char *const of_process[] = { "pid", "service_name" };
	const struct selector *asked = &run->question->asked;

	*out = (struct selector){ .arena = run->arena };
	out->matchers = arena_array(run->arena, asked->count, sizeof(*out->matchers));
	if (asked->count > 0 && !out->matchers)
		return arena_error(run->arena, err);
	out->capacity = asked->count;
	for (size_t i = 0; i < asked->count; i++)
		out->matchers[out->count++] = asked->matchers[i];
	if (selector_add_equal(out, STR("__profile_type__"), gpu_measure_type(GPU_LIVE_BYTES),
	                       err) < 0)
		return -1;
	for (size_t i = 0; run->process != GPU_NOBODY && i < ARRAY_LENGTH(of_process); i++) {
		const struct label_set *labels = &run->roster.processes[run->process].labels;
		const struct str *value = label_set_find(labels, str_of(of_process[i]));

		if (value && selector_add_equal(out, str_of(of_process[i]), *value, err) < 0)
			return -1;
	}
	return 0;
}

static int read_pieces(struct growth *run, struct error *err)
{
	const struct read_query_context *context = &run->question->query.context;
	struct selector selector;
	struct store_query query = {
		.tenant = context->tenant,
		.selector = &selector,
		.cancel = context->cancel,
	};

	if (run->question->query.nothing)
		return 0;
	if (make_selector(run, &selector, err) < 0)
		return -1;
	while (gpu_tick_spans_next(&run->spans, &query.range)) {
		CLEANUP(arena_freep) struct arena *piece = arena_branch(run->arena);

		query.arena = piece;
		gpu_stacks_begin_scan(&run->stacks);
		if (store_scan_samples(context->store, &query, add_samples, run, err) < 0)
			return -1;
		finish_piece(run);
	}
	return 0;
}

/* ---- the list ---- */

static void add_known(int64_t *sum, int64_t value, bool is_known)
{
	if (!is_known || *sum == GPU_GROWTH_UNKNOWN)
		*sum = GPU_GROWTH_UNKNOWN;
	else
		*sum = gpu_bytes_add(*sum, value);
}

static void add_row(const struct growth *run, const struct row *row, struct gpu_growth_row *out)
{
	const struct gpu_tick_span *span = &run->spans.nodes[row->node];
	const struct node_state *node = &run->nodes[row->node];

	add_known(&out->start_bytes, row->start_bytes, span->has_start || node->began_later);
	add_known(&out->end_bytes, row->end_bytes, span->has_end);
	for (size_t i = 0; i < GPU_FLOOR_COUNT; i++)
		add_known(&out->floor[i], row->floor[i], node->is_seen[i]);
}

static int compare_rows(const void *left, const void *right)
{
	const struct gpu_growth_row *a = left;
	const struct gpu_growth_row *b = right;
	int order = (b->growth_bytes > a->growth_bytes) - (b->growth_bytes < a->growth_bytes);

	if (order == 0)
		order = (b->end_bytes > a->end_bytes) - (b->end_bytes < a->end_bytes);
	for (size_t i = 0; order == 0 && i < a->stack.count && i < b->stack.count; i++)
		order = str_compare(a->stack.names[i], b->stack.names[i]);
	return order ? order
	             : (a->stack.count > b->stack.count) - (a->stack.count < b->stack.count);
}

static bool holds_anything(int64_t bytes)
{
	return bytes != 0 && bytes != GPU_GROWTH_UNKNOWN;
}

/* Rows of several nodes with one stack are one. */
static int make_list(struct growth *run, size_t limit, struct gpu_growth *out, struct error *err)
{
	struct intern ids = { 0 };
	size_t kept = 0;

	out->rows = arena_array(run->arena, run->row_ids.count + 1, sizeof(*out->rows));
	if (!out->rows)
		return arena_error(run->arena, err);
	for (size_t i = 0; i < run->row_ids.count; i++) {
		const struct row *row = &run->rows[i];
		bool is_new;
		const uint32_t at = intern_add(
			&ids, run->arena, intern_pair(run->roster.secret, 0, row->stack), &is_new);

		if (at == INTERN_NONE ||
		    (is_new && !gpu_stacks_names(&run->stacks, row->stack, &out->rows[at].stack)))
			return arena_error(run->arena, err);
		add_row(run, row, &out->rows[at]);
	}
	for (size_t i = 0; i < ids.count; i++) {
		struct gpu_growth_row row = out->rows[i];

		if (!holds_anything(row.start_bytes) && !holds_anything(row.end_bytes))
			continue;
		row.growth_bytes = row.start_bytes == GPU_GROWTH_UNKNOWN ||
		                                   row.end_bytes == GPU_GROWTH_UNKNOWN
		                           ? GPU_GROWTH_UNKNOWN
		                           : gpu_bytes_subtract(row.end_bytes, row.start_bytes);
		out->rows[kept++] = row;
	}
	if (kept > 1)
		qsort(out->rows, kept, sizeof(*out->rows), compare_rows);
	out->count = kept < limit ? kept : limit;
	return 0;
}

int gpu_growth_list(struct gpu_question *question, struct str process, size_t limit,
                    struct gpu_growth *out, struct error *err)
{
	struct arena *arena = question->query.context.arena;
	struct growth run = { .question = question, .arena = arena, .ticks.arena = arena };

	*out = (struct gpu_growth){ 0 };
	if (narrow_to_node(question, process, err) < 0)
		return -1;
	gpu_roster_init(&run.roster, question, GPU_PROCESSES);
	if (gpu_stacks_init(&run.stacks, arena, err) < 0 || find_ticks(&run, err) < 0 ||
	    find_starts(&run, process, err) < 0 || find_process(&run, process, err) < 0 ||
	    judge_nodes(&run, err) < 0 || read_pieces(&run, err) < 0)
		return -1;
	return make_list(&run, limit, out, err);
}
