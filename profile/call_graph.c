#include "profile/call_graph.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/uuid.h"
#include "profile/function_tree.h"
#include "profile/intern.h"

#define NO_NODE UINT32_MAX

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Where frames lead: to a node of all, and from there to one that is kept. */
struct frames {
	const struct profile *profile;
	uint32_t *functions; /* by function: node */
	uint32_t *locations; /* by bare location: node */
	uint32_t *kept;      /* by node: its place in the graph, or NO_NODE */
};

struct builder {
	const struct frames *frames;
	struct call_graph *graph;
	struct intern edge_ids;
	size_t edge_capacity;
	uint64_t secret;
	struct arena *arena;
};

/* The caller's side of a sample while it is walked from its root. */
struct walk {
	uint32_t sample; /* + 1 */
	int64_t value;
	uint32_t parent; /* NO_NODE: none yet */
	bool is_residual;
};

static bool add_edge(struct builder *builder, const struct walk *walk, uint32_t to)
{
	struct call_graph *graph = builder->graph;
	struct call_edge *edge;
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(builder->arena, graph->edges, graph->edge_count, builder->edge_capacity))
		return false;
	id = intern_add(&builder->edge_ids, builder->arena,
	                intern_pair(builder->secret, walk->parent, to), &is_new);
	if (id == INTERN_NONE)
		return false;
	if (is_new)
		graph->edges[graph->edge_count++] =
			(struct call_edge){ .from = walk->parent, .to = to };
	edge = &graph->edges[id];
	if (edge->seen == walk->sample)
		return true;
	edge->seen = walk->sample;
	edge->weight = wrap_add(edge->weight, walk->value);
	edge->is_residual = edge->is_residual || walk->is_residual;
	return true;
}

/* The next frame towards the leaf. */
static bool step(struct builder *builder, struct walk *walk, uint32_t any_node)
{
	const uint32_t at = builder->frames->kept[any_node];
	struct call_node *node;

	if (at == NO_NODE) {
		walk->is_residual = true;
		return true;
	}
	assert(builder->graph->nodes); /* what is kept has its place */
	node = &builder->graph->nodes[at];
	if (node->seen != walk->sample) {
		node->seen = walk->sample;
		node->cum = wrap_add(node->cum, walk->value);
	}
	if (walk->parent != NO_NODE && walk->parent != at && !add_edge(builder, walk, at))
		return false;
	walk->parent = at;
	walk->is_residual = false;
	return true;
}

static bool add_sample(struct builder *builder, size_t index)
{
	const struct frames *frames = builder->frames;
	const struct profile *profile = frames->profile;
	const struct profile_sample *sample = &profile->samples[index];
	struct walk walk = { (uint32_t)index + 1,
		             profile->values[index * profile->sample_type_count], NO_NODE, false };

	if (walk.value <= 0)
		return true;
	builder->graph->total = wrap_add(builder->graph->total, walk.value);
	for (uint32_t i = sample->depth; i > 0; i--) {
		const uint32_t id = profile->stacks[sample->first_frame + i - 1];
		const struct profile_location *location = &profile->locations[id];

		if (location->line_count == 0 && !step(builder, &walk, frames->locations[id]))
			return false;
		for (uint32_t j = location->line_count; j > 0; j--) {
			const uint32_t function =
				profile->lines[location->first_line + j - 1].function;

			if (!step(builder, &walk, frames->functions[function]))
				return false;
		}
	}
	if (walk.parent != NO_NODE && !walk.is_residual) {
		struct call_node *leaf = &builder->graph->nodes[walk.parent];

		leaf->flat = wrap_add(leaf->flat, walk.value);
	}
	return true;
}

/* Counts all samples into the nodes that stand in the graph already. */
static bool count_samples(const struct frames *frames, struct call_graph *graph,
                          struct arena *arena)
{
	const struct uuid random = uuid_random();
	struct builder builder = { .frames = frames, .graph = graph, .arena = arena };

	memcpy(&builder.secret, random.bytes, sizeof(builder.secret));
	for (size_t i = 0; i < frames->profile->sample_count; i++)
		if (!add_sample(&builder, i))
			return false;
	return true;
}

struct namer {
	struct intern ids;
	uint64_t secret;
	size_t capacity;
	struct call_graph *graph;
	struct arena *arena;
};

static uint32_t node_of(struct namer *namer, struct str name)
{
	struct call_graph *graph = namer->graph;
	bool is_new;
	uint32_t id;

	if (!name.data ||
	    !ARENA_GROW(namer->arena, graph->nodes, graph->node_count, namer->capacity))
		return NO_NODE;
	id = intern_add(&namer->ids, namer->arena, hash128_str(namer->secret, name), &is_new);
	if (id != INTERN_NONE && is_new)
		graph->nodes[graph->node_count++] = (struct call_node){ .name = name };
	return id;
}

static struct str bare_name(const struct profile *profile, const struct profile_location *location,
                            struct arena *arena)
{
	struct str file = { NULL, 0 };

	if (location->mapping != PROFILE_NONE)
		file = profile->strings[profile->mappings[location->mapping].file];
	return function_tree_bare_name(file, location->address, arena);
}

/* A node for each name; every node is kept for now. */
static bool name_frames(struct frames *frames, struct call_graph *graph, struct arena *arena)
{
	const struct profile *profile = frames->profile;
	const struct uuid random = uuid_random();
	struct namer namer = { .graph = graph, .arena = arena };

	memcpy(&namer.secret, random.bytes, sizeof(namer.secret));
	frames->functions = arena_array(arena, profile->function_count, sizeof(uint32_t));
	frames->locations = arena_array(arena, profile->location_count, sizeof(uint32_t));
	if (!frames->functions || !frames->locations)
		return false;
	for (size_t i = 0; i < profile->function_count; i++) {
		const struct str name = profile->strings[profile->functions[i].name];

		frames->functions[i] = node_of(&namer, name.length > 0 ? name : STR("(no name)"));
		if (frames->functions[i] == NO_NODE)
			return false;
	}
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct profile_location *location = &profile->locations[i];

		if (location->line_count > 0)
			continue;
		frames->locations[i] = node_of(&namer, bare_name(profile, location, arena));
		if (frames->locations[i] == NO_NODE)
			return false;
	}
	frames->kept = arena_array_raw(arena, graph->node_count, sizeof(uint32_t));
	for (uint32_t i = 0; frames->kept && i < graph->node_count; i++)
		frames->kept[i] = i;
	return frames->kept != NULL;
}

struct ranked {
	double score;
	uint32_t node;
};

/* The higher score first. */
static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left;
	const struct ranked *b = right;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

/* One side of a node: its edges in, or its edges out with its own part. */
struct side {
	double sum;
	double entropy;
	size_t edge_count;
};

static double entropy_part(double weight, double sum)
{
	return weight > 0 && sum > 0 ? -(weight / sum) * log2(weight / sum) : 0;
}

static void measure_sides(const struct call_graph *graph, struct side *in, struct side *out)
{
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct call_edge *edge = &graph->edges[i];

		in[edge->to].sum += (double)edge->weight;
		in[edge->to].edge_count++;
		out[edge->from].sum += (double)edge->weight;
		out[edge->from].edge_count++;
	}
	for (size_t i = 0; i < graph->node_count; i++)
		out[i].sum += (double)graph->nodes[i].flat;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct call_edge *edge = &graph->edges[i];
		const double weight = (double)edge->weight;

		in[edge->to].entropy += entropy_part(weight, in[edge->to].sum);
		out[edge->from].entropy += entropy_part(weight, out[edge->from].sum);
	}
	for (size_t i = 0; i < graph->node_count; i++)
		out[i].entropy += entropy_part((double)graph->nodes[i].flat, out[i].sum);
}

/*
 * pprof's ranking: a node is worth its cumulative value times how much it tells, that is
 * how evenly its callers and its callees share it. Entries and leaves tell by themselves;
 * a function that only hands on from one caller to one callee tells nothing.
 */
static struct ranked *rank_nodes(const struct call_graph *graph, struct arena *arena)
{
	struct side *in = arena_array(arena, graph->node_count, sizeof(*in));
	struct side *out = arena_array(arena, graph->node_count, sizeof(*out));
	struct ranked *ranked = arena_array_raw(arena, graph->node_count, sizeof(*ranked));

	if (!in || !out || !ranked)
		return NULL;
	measure_sides(graph, in, out);
	for (uint32_t i = 0; i < graph->node_count; i++) {
		const double callers = in[i].edge_count ? in[i].entropy : 1;
		const double callees = out[i].edge_count ? out[i].entropy : 1;

		ranked[i].node = i;
		ranked[i].score = (callers + callees) * (double)graph->nodes[i].cum +
		                  (double)graph->nodes[i].flat;
	}
	qsort(ranked, graph->node_count, sizeof(*ranked), compare_ranked);
	return ranked;
}

static int compare_edges(const void *left, const void *right)
{
	const struct call_edge *a = left;
	const struct call_edge *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Nodes without samples are no nodes. */
static size_t used_nodes(const struct call_graph *graph)
{
	size_t count = 0;

	for (size_t i = 0; i < graph->node_count; i++)
		count += graph->nodes[i].seen > 0;
	return count;
}

int call_graph_make(const struct profile *profile, size_t max_nodes, struct arena *arena,
                    struct call_graph *out, struct error *err)
{
	struct frames frames = { .profile = profile };
	struct call_graph all = { 0 };
	struct call_graph graph = { 0 };
	struct ranked *ranked;

	if (profile->sample_type_count == 0 ||
	    profile->function_count + profile->location_count == 0) {
		*out = graph;
		return 0;
	}
	if (!name_frames(&frames, &all, arena) || !count_samples(&frames, &all, arena))
		return arena_error(arena, err);
	graph.function_count = used_nodes(&all);
	ranked = rank_nodes(&all, arena);
	graph.nodes = arena_array_raw(arena, all.node_count, sizeof(*graph.nodes));
	if (!ranked || !graph.nodes)
		return arena_error(arena, err);
	for (size_t i = 0; i < all.node_count; i++)
		frames.kept[i] = NO_NODE;
	for (size_t i = 0; i < all.node_count; i++) {
		const uint32_t node = ranked[i].node;

		if (all.nodes[node].seen == 0 || (max_nodes > 0 && graph.node_count == max_nodes))
			continue;
		frames.kept[node] = (uint32_t)graph.node_count;
		graph.nodes[graph.node_count++] =
			(struct call_node){ .name = all.nodes[node].name };
	}
	if (!count_samples(&frames, &graph, arena))
		return arena_error(arena, err);
	if (graph.edge_count > 0)
		qsort(graph.edges, graph.edge_count, sizeof(*graph.edges), compare_edges);
	*out = graph;
	return 0;
}
