#include "server/query/gpu_groups.h"

#include <stdlib.h>

#include "server/query/gpu_moments.h"

struct gpu_group_series {
	uint32_t node;
	uint32_t group;
	uint32_t next; /* of the same node, + 1; 0: the last */
	struct gpu_cells cells;
};

struct gpu_group {
	struct str key;   /* of a label */
	uint32_t process; /* of the roster, when groups are processes */
	double area;      /* sum over time */
	int64_t *values;  /* NULL: not among the first */
};

void gpu_groups_init(struct gpu_groups *groups, struct str by, const struct gpu_grid *grid,
                     struct arena *arena)
{
	*groups = (struct gpu_groups){ .arena = arena, .by = by, .grid = grid };
}

static bool by_process(const struct gpu_groups *groups)
{
	return str_equals(groups->by, "process");
}

/* ---- profiles ---- */

static int find_group(struct gpu_groups *groups, const struct gpu_roster *roster,
                      const struct gpu_role *role, const struct label_set *labels, uint32_t *out,
                      struct error *err)
{
	const struct str key = label_set_value(labels, groups->by);
	const struct hash128 id = by_process(groups) ? intern_pair(roster->secret, 0, role->process)
	                                             : hash128_str(roster->secret, key);
	bool is_new;
	const uint32_t group = intern_add(&groups->group_ids, groups->arena, id, &is_new);

	if (group == INTERN_NONE ||
	    (is_new && !ARENA_GROW(groups->arena, groups->groups, group, groups->group_capacity)))
		return arena_error(groups->arena, err);
	*out = group;
	if (!is_new)
		return 0;
	groups->groups[group] = (struct gpu_group){
		.key = arena_copy(groups->arena, key),
		.process = role->process,
	};
	return groups->groups[group].key.data ? 0 : arena_error(groups->arena, err);
}

int gpu_groups_add(struct gpu_groups *groups, const struct gpu_roster *roster,
                   const struct gpu_role *role, const struct store_point *point, struct error *err)
{
	bool is_new;
	const uint32_t number = intern_add(&groups->series_ids, groups->arena,
	                                   intern_pair(roster->secret, 0, point->series), &is_new);
	struct gpu_group_series *series;

	if (number == INTERN_NONE ||
	    (is_new && !ARENA_GROW(groups->arena, groups->series, number, groups->series_capacity)))
		return arena_error(groups->arena, err);
	series = &groups->series[number];
	if (is_new) {
		*series = (struct gpu_group_series){ .node = role->node };
		if (find_group(groups, roster, role, point->labels, &series->group, err) < 0)
			return -1;
	}
	return gpu_cells_add(&series->cells, groups->arena, groups->grid, point->time_unix_ns,
	                     point->total, err);
}

/* ---- lines ---- */

static void add_value(int64_t *values, size_t step, int64_t value)
{
	if (values)
		values[step] = values[step] == GPU_GAP ? value : gpu_bytes_add(values[step], value);
}

/* Calls visit() for every node with its ticks, and every series of it. */
struct walk {
	struct gpu_groups *groups;
	const struct gpu_ticks *ticks;
	int64_t *times; /* of the node at hand: the tick that counts at each step, or GPU_GAP */
	int64_t *total;
	bool *counts;    /* by node: what it says is part of the total */
	uint32_t *first; /* by node: its first series, + 1 */
};

static void add_area(struct walk *walk, const struct gpu_group_series *series)
{
	const struct gpu_grid *grid = walk->groups->grid;
	struct gpu_group *group = &walk->groups->groups[series->group];

	for (size_t i = 0; i < grid->step_count; i++)
		if (walk->times[i] != GPU_GAP)
			group->area += (double)gpu_cells_at(&series->cells, grid, walk->times[i]);
}

static void add_values(struct walk *walk, const struct gpu_group_series *series)
{
	const struct gpu_grid *grid = walk->groups->grid;
	struct gpu_group *group = &walk->groups->groups[series->group];

	for (size_t i = 0; i < grid->step_count; i++) {
		int64_t value;

		if (walk->times[i] == GPU_GAP)
			continue;
		value = gpu_cells_at(&series->cells, grid, walk->times[i]);
		add_value(group->values, i, value);
		add_value(walk->total, i, value);
	}
}

static void walk_nodes(struct walk *walk, size_t node_count,
                       void (*visit)(struct walk *walk, const struct gpu_group_series *series))
{
	const struct gpu_groups *groups = walk->groups;
	const struct gpu_moment_range steps = { groups->grid->start_ns, groups->grid->step_ns,
		                                groups->grid->step_count };

	for (uint32_t node = 0; node < node_count; node++) {
		gpu_ticks_sample(walk->ticks, node, steps, GPU_GAP, walk->times);
		for (size_t i = 0; walk->counts[node] && i < groups->grid->step_count; i++)
			if (walk->times[i] != GPU_GAP)
				add_value(walk->total, i, 0);
		for (uint32_t i = walk->first[node]; i != 0; i = groups->series[i - 1].next)
			visit(walk, &groups->series[i - 1]);
	}
}

static int compare_groups(const void *left, const void *right)
{
	const struct gpu_group *a = *(struct gpu_group *const *)left;
	const struct gpu_group *b = *(struct gpu_group *const *)right;
	const int order = (b->area > a->area) - (b->area < a->area);
	const int second = order ? order : str_compare(a->key, b->key);

	return second ? second : (a->process > b->process) - (a->process < b->process);
}

static int64_t *make_values(const struct gpu_groups *groups)
{
	int64_t *values =
		arena_array_raw(groups->arena, groups->grid->step_count + 1, sizeof(*values));

	for (size_t i = 0; values && i < groups->grid->step_count; i++)
		values[i] = GPU_GAP;
	return values;
}

static int make_line(const struct gpu_groups *groups, const struct gpu_roster *roster,
                     struct gpu_group *group, struct gpu_line *line, struct error *err)
{
	struct label *label;

	group->values = make_values(groups);
	label = arena_alloc(groups->arena, sizeof(*label));
	if (!group->values || !label)
		return arena_error(groups->arena, err);
	*label = (struct label){ groups->by, group->key };
	*line = (struct gpu_line){
		.key = group->key,
		.labels = { label, group->key.length > 0 },
		.values = group->values,
	};
	if (!by_process(groups))
		return 0;
	line->labels = roster->processes[group->process].labels;
	line->key = gpu_roster_process_id(roster, group->process);
	return line->key.data ? 0 : arena_error(groups->arena, err);
}

/* The groups with the largest sums have lines from now on. */
static int choose(struct gpu_groups *groups, const struct gpu_roster *roster, size_t top,
                  struct gpu_lines *out, struct error *err)
{
	const size_t count = groups->group_ids.count;
	struct gpu_group **sorted = arena_array(groups->arena, count + 1, sizeof(*sorted));

	out->items = arena_array(groups->arena, count + 1, sizeof(*out->items));
	if (!sorted || !out->items)
		return arena_error(groups->arena, err);
	for (size_t i = 0; i < count; i++)
		sorted[i] = &groups->groups[i];
	if (count > 1)
		qsort(sorted, count, sizeof(struct gpu_group *), compare_groups);
	for (; out->count < count && out->count < top; out->count++) {
		/* what holds nothing at any step is no line */
		if (sorted[out->count]->area <= 0)
			break;
		if (make_line(groups, roster, sorted[out->count], &out->items[out->count], err) < 0)
			return -1;
	}
	return 0;
}

/* What is in the total and in no line. */
static void subtract_lines(const struct gpu_groups *groups, struct gpu_lines *out)
{
	for (size_t step = 0; step < groups->grid->step_count; step++) {
		int64_t rest = out->total[step];

		for (size_t i = 0; rest != GPU_GAP && i < out->count; i++)
			if (out->items[i].values[step] != GPU_GAP)
				rest = gpu_bytes_subtract(rest, out->items[i].values[step]);
		out->other[step] = rest;
	}
}

/* Nodes of which something is asked for. */
static bool *counted_nodes(const struct gpu_groups *groups, const struct gpu_roster *roster)
{
	const size_t count = gpu_roster_node_count(roster);
	bool *counts = arena_array(groups->arena, count + 1, sizeof(*counts));

	for (size_t i = 0; counts && i < count; i++)
		counts[i] = gpu_question_asks_nodes(roster->question);
	for (size_t i = 0; counts && i < groups->series_ids.count; i++)
		counts[groups->series[i].node] = true;
	return counts;
}

/* Chains the series of each node; NULL: the arena is full. */
static uint32_t *chain_series(struct gpu_groups *groups, size_t node_count)
{
	uint32_t *first = arena_array(groups->arena, node_count + 1, sizeof(*first));

	for (uint32_t i = 0; first && i < groups->series_ids.count; i++) {
		struct gpu_group_series *series = &groups->series[i];

		series->next = first[series->node];
		first[series->node] = i + 1;
	}
	return first;
}

int gpu_groups_finish(struct gpu_groups *groups, const struct gpu_roster *roster,
                      const struct gpu_ticks *ticks, size_t top, struct gpu_lines *out,
                      struct error *err)
{
	struct walk walk = { .groups = groups, .ticks = ticks };
	const size_t nodes = gpu_roster_node_count(roster);

	*out = (struct gpu_lines){ .total = make_values(groups), .other = make_values(groups) };
	walk.times = make_values(groups);
	walk.counts = counted_nodes(groups, roster);
	walk.first = chain_series(groups, nodes);
	if (!out->total || !out->other || !walk.times || !walk.counts || !walk.first)
		return arena_error(groups->arena, err);
	walk_nodes(&walk, nodes, add_area);
	if (choose(groups, roster, top, out, err) < 0)
		return -1;
	walk.total = out->total;
	walk_nodes(&walk, nodes, add_values);
	subtract_lines(groups, out);
	return 0;
}
