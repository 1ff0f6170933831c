#include "server/query/live_moment.h"

#include "base/uuid.h"
#include "server/query/gpu_question.h"
#include "server/query/gpu_roster.h"
#include "server/query/gpu_ticks.h"
#include "server/query/instant_source.h"

/* The last moment: what is added to it here stays on the scale. */
#define AT_MS_MAX ((INT64_MAX - 2 * GPU_TICK_SLACK_NS) / NS_PER_MS)

/* A node's tick, if it has one. */
struct moment_node {
	int64_t tick_ns;
	uint32_t part;
	bool is_merged; /* some series of it is in the answer */
};

struct live_moment {
	struct arena *arena;
	uint64_t key; /* of all hashes */
	struct intern node_ids;
	struct gpu_ticks ticks;
	struct moment_node *nodes;
	struct store_range *ranges; /* by part */
	struct store_parts parts;
};

static bool ticks_with_its_node(const struct label_set *labels)
{
	return gpu_measure_of(labels) <= GPU_FAILURES;
}

static struct hash128 node_key(const struct live_moment *moment, const struct label_set *labels)
{
	if (ticks_with_its_node(labels))
		return hash128_str(moment->key, label_set_value(labels, STR("hostname")));
	return instant_source_key(moment->key + 1, labels);
}

static int add_tick(struct live_moment *moment, const struct store_point *point, struct error *err)
{
	bool is_new;
	const uint32_t node = intern_add(&moment->node_ids, moment->arena,
	                                 node_key(moment, point->labels), &is_new);

	if (node == INTERN_NONE)
		return arena_error(moment->arena, err);
	return gpu_ticks_add(&moment->ticks, node, point->time_unix_ns, err);
}

/* ---- ticks ---- */

static int add_of_node(void *context, const struct store_point *point, struct error *err)
{
	return ticks_with_its_node(point->labels) ? add_tick(context, point, err) : 0;
}

static int add_of_source(void *context, const struct store_point *point, struct error *err)
{
	return ticks_with_its_node(point->labels) ? 0 : add_tick(context, point, err);
}

/* Whatever the collector told of the nodes that are asked for. */
static int scan_nodes(struct live_moment *moment, const struct read_query *query, struct error *err)
{
	const struct gpu_question question = { .query = *query, .asked = query->selector };
	const struct gpu_read read = {
		.measures = GPU_TICKING,
		.scope = GPU_WHOLE_NODES,
		.range = query->range,
	};

	return gpu_question_scan(&question, &read, add_of_node, moment, err);
}

/*
 * Whatever has this type and this service; what was told later says how often it is told,
 * where the moment lies near the first time.
 */
static int scan_sources(struct live_moment *moment, const struct read_query *query,
                        struct error *err)
{
	struct store_query asked = read_query_store(query);
	struct instant_question question;

	asked.range.end_unix_ns += GPU_TICK_SLACK_NS;
	if (instant_question_widen(&asked, &question, err) < 0)
		return -1;
	return store_scan(query->context.store, &question.query, add_of_source, moment, err);
}

static bool is_of_collector(const struct read_query *query)
{
	for (enum gpu_measure i = 0; i <= GPU_FAILURES; i++)
		if (str_equal(query->type_id, gpu_measure_type(i)))
			return true;
	return false;
}

/* ---- parts ---- */

static uint32_t part_of(void *context, const struct label_set *labels)
{
	struct live_moment *moment = context;
	const uint32_t node = intern_find(&moment->node_ids, node_key(moment, labels));

	if (node == INTERN_NONE || moment->nodes[node].part == STORE_SKIP)
		return STORE_SKIP;
	moment->nodes[node].is_merged = true;
	return moment->nodes[node].part;
}

/*
 * A moment is a whole millisecond: what was told within it counts, and a gap is as long as
 * it is at its beginning.
 */
static bool find_tick(const struct live_moment *moment, uint32_t node, int64_t at_ms,
                      int64_t *out_ns)
{
	const int64_t begin_ns = at_ms * NS_PER_MS;

	return gpu_ticks_at(&moment->ticks, node, begin_ns + NS_PER_MS - 1, out_ns) ||
	       gpu_ticks_at(&moment->ticks, node, begin_ns, out_ns);
}

/* A part is all nodes with a tick of one time. */
static int make_parts(struct live_moment *moment, int64_t at_ms, struct error *err)
{
	const size_t count = moment->node_ids.count;
	struct intern times = { 0 };

	moment->nodes = arena_array(moment->arena, count + 1, sizeof(*moment->nodes));
	moment->ranges = arena_array(moment->arena, count + 1, sizeof(*moment->ranges));
	if (!moment->nodes || !moment->ranges)
		return arena_error(moment->arena, err);
	for (uint32_t i = 0; i < count; i++) {
		struct moment_node *node = &moment->nodes[i];
		bool is_new;

		node->part = STORE_SKIP;
		if (!find_tick(moment, i, at_ms, &node->tick_ns))
			continue;
		node->part = intern_add(&times, moment->arena,
		                        hash128(moment->key, &node->tick_ns, sizeof(node->tick_ns)),
		                        &is_new);
		if (node->part == INTERN_NONE)
			return arena_error(moment->arena, err);
		moment->ranges[node->part] = (struct store_range){ node->tick_ns, node->tick_ns };
	}
	moment->parts = (struct store_parts){
		.part_of = part_of,
		.context = moment,
		.count = times.count,
		.ranges = moment->ranges,
	};
	return 0;
}

int live_moment_new(struct read_query *query, int64_t at_ms, struct live_moment **out,
                    struct error *err)
{
	struct arena *arena = query->context.arena;
	struct live_moment *moment = arena_alloc(arena, sizeof(*moment));
	const struct uuid random = uuid_random();

	if (!moment)
		return arena_error(arena, err);
	moment->arena = arena;
	moment->ticks.arena = arena;
	memcpy(&moment->key, random.bytes, sizeof(moment->key));
	if (at_ms > AT_MS_MAX)
		at_ms = AT_MS_MAX;
	if (read_query_set_range(query, at_ms, at_ms, err) < 0)
		return -1;
	query->range.end_unix_ns += NS_PER_MS - 1;
	query->range.start_unix_ns -= GPU_TICK_SLACK_NS;
	if (is_of_collector(query) && scan_nodes(moment, query, err) < 0)
		return -1;
	if (scan_sources(moment, query, err) < 0 || gpu_ticks_finish(&moment->ticks, err) < 0 ||
	    make_parts(moment, at_ms, err) < 0)
		return -1;
	*out = moment;
	return 0;
}

const struct store_parts *live_moment_parts(const struct live_moment *moment)
{
	return &moment->parts;
}

void live_moment_snapshots(const struct live_moment *moment, struct instant_snapshots *out)
{
	*out = (struct instant_snapshots){ .newest_unix_ns = INT64_MIN };
	for (size_t i = 0; i < moment->node_ids.count; i++) {
		if (!moment->nodes[i].is_merged)
			continue;
		out->count++;
		if (moment->nodes[i].tick_ns > out->newest_unix_ns)
			out->newest_unix_ns = moment->nodes[i].tick_ns;
	}
}
