#include "server/query/gpu_tally.h"

#define SHARES_MAX 256 /* names apart; more are one share: a guess, hosts have 16 GPUs */

void gpu_tallies_init(struct gpu_tallies *tallies, struct arena *arena, int64_t start_ns)
{
	*tallies = (struct gpu_tallies){
		.arena = arena,
		.start_ns = start_ns,
		.moments.arena = arena,
	};
}

static int need_tally(struct gpu_tallies *tallies, uint32_t process, struct error *err)
{
	while (process >= tallies->capacity)
		if (!arena_grow(tallies->arena, (void **)&tallies->items, sizeof(*tallies->items),
		                &tallies->capacity))
			return arena_error(tallies->arena, err);
	for (; tallies->count <= process; tallies->count++)
		tallies->items[tallies->count] = (struct gpu_tally){ 0 };
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

static bool is_at_tick(const struct gpu_node_times *node, const struct store_point *point)
{
	return node->is_heard && point->time_unix_ns == node->tick_ns;
}

/* Whether a profile of an interval belongs to the range. */
static bool is_behind_base(const struct gpu_tallies *tallies, const struct gpu_node_times *node,
                           const struct store_point *point)
{
	return point->time_unix_ns > (node->has_base ? node->base_ns : tallies->start_ns);
}

static int add_live(struct gpu_tallies *tallies, struct gpu_tally *tally,
                    const struct gpu_node_times *node, const struct gpu_role *role,
                    const struct store_point *point, struct error *err)
{
	const bool is_now = is_at_tick(node, point);

	if (is_now &&
	    add_share(tallies->arena, &tally->by_class, role->memory_class, point->total, err) < 0)
		return -1;
	if (!role->is_counted)
		return 0;
	if (is_now) {
		tally->live_bytes = gpu_bytes_add(tally->live_bytes, point->total);
		if (add_share(tallies->arena, &tally->by_gpu, role->gpu, point->total, err) < 0)
			return -1;
	}
	if (node->has_base && point->time_unix_ns == node->base_ns)
		tally->base_bytes = gpu_bytes_add(tally->base_bytes, point->total);
	return 0;
}

static enum gpu_process_state suspended_state(const struct label_set *labels)
{
	return str_equals(label_set_value(labels, STR("state")), "checkpointed")
	               ? GPU_PROCESS_CHECKPOINTED
	               : GPU_PROCESS_LOCKED;
}

static int add_moment(struct gpu_tallies *tallies, const struct gpu_role *role,
                      const struct store_point *point, struct error *err)
{
	if (!role->is_counted || point->time_unix_ns < tallies->start_ns)
		return 0;
	return gpu_moments_add(&tallies->moments, role, point, err);
}

int gpu_tallies_add(struct gpu_tallies *tallies, const struct gpu_node_times *node,
                    const struct gpu_role *role, const struct store_point *point, struct error *err)
{
	const bool is_inside = is_behind_base(tallies, node, point);
	struct gpu_tally *tally;

	if (need_tally(tallies, role->process, err) < 0)
		return -1;
	if (!role->is_asked)
		return 0;
	tally = &tallies->items[role->process];
	switch (role->measure) {
	case GPU_LIVE_BYTES:
		if (add_live(tallies, tally, node, role, point, err) < 0)
			return -1;
		return add_moment(tallies, role, point, err);
	case GPU_LIVE_BLOCKS:
		if (role->is_counted && is_at_tick(node, point))
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
		return add_moment(tallies, role, point, err);
	case GPU_SUSPENDED:
		if (is_at_tick(node, point))
			tally->state = suspended_state(point->labels);
		return 0;
	default:
		return 0;
	}
}

int64_t gpu_tally_growth(const struct gpu_tally *tally)
{
	return gpu_bytes_subtract(tally->live_bytes, tally->base_bytes);
}

int64_t gpu_tally_freed(const struct gpu_tally *tally)
{
	const int64_t freed = gpu_bytes_subtract(tally->alloc_bytes, gpu_tally_growth(tally));

	return freed > 0 ? freed : 0;
}
