#include "server/query/gpu_tick_spans.h"

/* The tick that holds at a time, or in a gap the next one. */
static size_t tick_from(const struct gpu_ticks *ticks, uint32_t node, int64_t at_ns,
                        bool *out_holds)
{
	const size_t passed = gpu_tick_list_until(&ticks->nodes[node], at_ns);
	int64_t tick_ns;

	*out_holds = gpu_ticks_at(ticks, node, at_ns, &tick_ns);
	return *out_holds ? passed - 1 : passed;
}

int gpu_tick_spans_init(struct gpu_tick_spans *spans, const struct gpu_ticks *ticks,
                        struct store_range range, const int64_t lookback_ns[GPU_LOOKBACKS_MAX],
                        struct error *err)
{
	*spans = (struct gpu_tick_spans){ .ticks = ticks, .node_count = ticks->node_count };
	spans->nodes = arena_array(ticks->arena, ticks->node_count + 1, sizeof(*spans->nodes));
	if (!spans->nodes)
		return arena_error(ticks->arena, err);
	for (uint32_t i = 0; i < spans->node_count; i++) {
		struct gpu_tick_span *span = &spans->nodes[i];
		bool holds;

		span->start = tick_from(ticks, i, range.start_unix_ns, &span->has_start);
		span->end = tick_from(ticks, i, range.end_unix_ns, &span->has_end);
		span->stop = gpu_tick_list_until(&ticks->nodes[i], range.end_unix_ns);
		for (size_t j = 0; j < GPU_LOOKBACKS_MAX; j++)
			span->from[j] =
				tick_from(ticks, i, range.end_unix_ns - lookback_ns[j], &holds);
		span->next = span->from[GPU_LOOKBACKS_MAX - 1];
	}
	return 0;
}

static void widen(struct store_range *range, const struct gpu_tick_list *list, size_t first,
                  size_t past)
{
	if (first == past)
		return;
	if (list->times[first] < range->start_unix_ns)
		range->start_unix_ns = list->times[first];
	if (list->times[past - 1] > range->end_unix_ns)
		range->end_unix_ns = list->times[past - 1];
}

/* Starts that lie before everything else. */
static struct store_range take_starts(struct gpu_tick_spans *spans)
{
	struct store_range range = { INT64_MAX, INT64_MIN };

	for (size_t i = 0; i < spans->node_count; i++) {
		struct gpu_tick_span *span = &spans->nodes[i];

		span->first = span->past = span->start;
		if (span->has_start && span->start < span->next)
			span->past = span->start + 1;
		widen(&range, &spans->ticks->nodes[i], span->first, span->past);
	}
	return range;
}

/* The latest time up to which no node has more ticks than a piece may have. */
static int64_t piece_end(const struct gpu_tick_spans *spans)
{
	int64_t end_ns = INT64_MAX;

	for (size_t i = 0; i < spans->node_count; i++) {
		const struct gpu_tick_span *span = &spans->nodes[i];
		const int64_t *times = spans->ticks->nodes[i].times;

		if (span->stop > span->next + GPU_PIECE_TICKS &&
		    times[span->next + GPU_PIECE_TICKS - 1] < end_ns)
			end_ns = times[span->next + GPU_PIECE_TICKS - 1];
	}
	return end_ns;
}

static struct store_range take_piece(struct gpu_tick_spans *spans)
{
	struct store_range range = { INT64_MAX, INT64_MIN };
	const int64_t end_ns = piece_end(spans);

	for (size_t i = 0; i < spans->node_count; i++) {
		struct gpu_tick_span *span = &spans->nodes[i];
		const size_t reach = gpu_tick_list_until(&spans->ticks->nodes[i], end_ns);

		span->first = span->next;
		span->past = reach < span->stop ? reach : span->stop;
		if (span->past < span->first)
			span->past = span->first;
		span->next = span->past;
		widen(&range, &spans->ticks->nodes[i], span->first, span->past);
	}
	return range;
}

bool gpu_tick_spans_next(struct gpu_tick_spans *spans, struct store_range *out)
{
	struct store_range range = { INT64_MAX, INT64_MIN };

	if (!spans->has_begun)
		range = take_starts(spans);
	spans->has_begun = true;
	if (range.start_unix_ns > range.end_unix_ns)
		range = take_piece(spans);
	*out = range;
	return range.start_unix_ns <= range.end_unix_ns;
}

ptrdiff_t gpu_tick_spans_find(const struct gpu_tick_spans *spans, uint32_t node, int64_t time_ns)
{
	const struct gpu_tick_span *span;
	size_t passed;

	if (node >= spans->node_count)
		return -1;
	span = &spans->nodes[node];
	passed = gpu_tick_list_until(&spans->ticks->nodes[node], time_ns);
	if (passed <= span->first || passed > span->past ||
	    spans->ticks->nodes[node].times[passed - 1] != time_ns)
		return -1;
	return (ptrdiff_t)(passed - 1 - span->first);
}
