#include "storage/presence.h"

/* ---- learning ---- */

/* Bounds of a group's rows, then widened by those of its blocks. */
static int bounds_of_rows(struct query_window *window, uint32_t group, struct group_bounds *out,
                          struct error *err)
{
	int64_t oldest;
	int64_t newest;
	bool any;

	if (reader_bounds(window->reader, group, &any, &oldest, &newest, err) < 0)
		return -1;
	*out = any ? (struct group_bounds){ oldest, oldest, newest, newest } : GROUP_BOUNDS_NONE;
	return 0;
}

static int64_t min_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The group has a profile somewhere in the block. */
static void widen(struct group_bounds *bounds, const struct block_row *block)
{
	bounds->oldest_low = min_of(bounds->oldest_low, block->first_unix_ns);
	bounds->oldest_high = min_of(bounds->oldest_high, block->last_unix_ns);
	bounds->newest_low = max_of(bounds->newest_low, block->first_unix_ns);
	bounds->newest_high = max_of(bounds->newest_high, block->last_unix_ns);
}

static int learn_group(struct query_window *window, const struct block_listing *blocks,
                       uint32_t group, struct error *err)
{
	struct group_bounds bounds;
	uint32_t index;

	if (bounds_of_rows(window, group, &bounds, err) < 0)
		return -1;
	for (size_t i = 0; i < blocks->count; i++)
		if (block_row_find(&blocks->rows[i], group, &index))
			widen(&bounds, &blocks->rows[i]);
	group_times_learn(window->window->times, window->times_epoch, group, &bounds);
	return 0;
}

static bool is_new(const struct query_window *window, uint32_t group)
{
	const int32_t day = window->window->day;

	return group_times_ask(window->window->times, group, day_start_ns(day), day_end_ns(day)) ==
	       GROUP_UNKNOWN;
}

/* The blocks of a group's family within times, in query->scratch. */
static int list_blocks(struct query *query, const struct query_window *window,
                       const struct reader_run *run, struct block_listing *out, struct error *err)
{
	struct block_table *table = reader_blocks(window->reader);
	const int32_t day = window->window->day;

	*out = (struct block_listing){ 0 };
	arena_reset(query->scratch);
	if (!table)
		return 0;
	return block_table_list(table, series_view_group(&window->series, run->group)->family,
	                        block_hour_of(max_of(run->start_unix_ns, day_start_ns(day))),
	                        block_hour_of(min_of(run->end_unix_ns, day_end_ns(day))),
	                        query->scratch, out, err);
}

static int learn(struct query *query, struct query_window *window, uint32_t group,
                 struct error *err)
{
	const struct reader_run all = { group, INT64_MIN, INT64_MAX };
	struct block_listing blocks;

	if (list_blocks(query, window, &all, &blocks, err) < 0 ||
	    learn_group(window, &blocks, group, err) < 0)
		return -1;
	for (size_t i = 0; i < blocks.count; i++)
		for (uint32_t at = 0; at < blocks.rows[i].group_count; at++)
			if (is_new(window, blocks.rows[i].groups[at]) &&
			    learn_group(window, &blocks, blocks.rows[i].groups[at], err) < 0)
				return -1;
	return 0;
}

/* ---- looking ---- */

/* Whether a block that the range cuts has a profile of the group in it. */
static int find_in_heads(struct query *query, const struct query_window *window,
                         const struct block_row *block, const struct reader_run *run, bool *out,
                         struct error *err)
{
	struct block_heads heads;

	if (block_table_heads(reader_blocks(window->reader), block, query->scratch, &heads, err) <
	    0)
		return -1;
	for (uint32_t i = 0; i < heads.group_count && !*out; i++)
		for (uint32_t at = heads.firsts[i];
		     heads.groups[i] == run->group && at < heads.firsts[i + 1] && !*out; at++)
			*out = heads.times[at] >= run->start_unix_ns &&
			       heads.times[at] <= run->end_unix_ns;
	return 0;
}

static int find_in_block(struct query *query, const struct query_window *window,
                         const struct block_row *block, const struct reader_run *run, bool *out,
                         struct error *err)
{
	uint32_t index;

	if (block->last_unix_ns < run->start_unix_ns || block->first_unix_ns > run->end_unix_ns ||
	    !block_row_find(block, run->group, &index))
		return 0;
	*out = block->first_unix_ns >= run->start_unix_ns &&
	       block->last_unix_ns <= run->end_unix_ns;
	return *out ? 0 : find_in_heads(query, window, block, run, out, err);
}

static int look(struct query *query, struct query_window *window, const struct reader_run *run,
                bool *out, struct error *err)
{
	struct block_listing blocks;

	if (reader_probe(window->reader, run, 1, out, err) < 0)
		return -1;
	if (*out)
		return 0;
	if (list_blocks(query, window, run, &blocks, err) < 0)
		return -1;
	for (size_t i = 0; i < blocks.count && !*out; i++)
		if (find_in_block(query, window, &blocks.rows[i], run, out, err) < 0)
			return -1;
	return 0;
}

static enum group_presence ask(const struct query_window *window, const struct reader_run *run)
{
	return group_times_ask(window->window->times, run->group, run->start_unix_ns,
	                       run->end_unix_ns);
}

int presence_find(struct query *query, struct query_window *window, const struct reader_run *run,
                  bool *out, struct error *err)
{
	enum group_presence found = ask(window, run);

	*out = false;
	if (run->start_unix_ns > run->end_unix_ns)
		return 0;
	if (found == GROUP_UNKNOWN) {
		if (learn(query, window, run->group, err) < 0)
			return -1;
		found = ask(window, run);
	}
	*out = found == GROUP_PRESENT;
	if (found == GROUP_PRESENT || found == GROUP_ABSENT)
		return 0;
	return look(query, window, run, out, err);
}
