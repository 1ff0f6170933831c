#include "storage/block_heads.h"

#include "base/mem.h"
#include "base/wire.h"
#include "storage/block_index.h"
#include "storage/sample_page.h"

/*
 * Payload: profiles, groups, series; then columns: groups, profiles of each group, times,
 * seqs, durations, received; the totals of each series; ids.
 */

/* ---- encoding ---- */

static void put_totals(const struct block_heads_columns *columns, int64_t *spare,
                       struct strbuf *out)
{
	const uint32_t count = columns->firsts[columns->group_count];
	const uint32_t firsts[] = { 0, count };
	const uint32_t key = 0;
	const struct block_columns totals = {
		.row_count = count,
		.series_count = columns->series_count,
		.key_count = 1,
		.run_count = 1,
		.firsts = firsts,
		.keys = &key,
		.values = columns->totals,
	};

	block_values_encode(&totals, spare, out);
}

void block_heads_encode(const struct block_heads_columns *columns, struct strbuf *out)
{
	const uint32_t count = columns->firsts[columns->group_count];
	const int64_t *const singles[] = { columns->times, columns->seqs, columns->durations,
		                           columns->received };
	CLEANUP(mem_freep) int64_t *spare = mem_zalloc((size_t)count + 1, sizeof(*spare));

	wire_put_varint(out, count);
	wire_put_varint(out, columns->group_count);
	wire_put_varint(out, columns->series_count);
	block_index_encode(columns->groups, columns->group_count, out);
	block_index_encode_sizes(columns->firsts, columns->group_count, out);
	for (size_t i = 0; i < ARRAY_LENGTH(singles); i++)
		block_values_encode_one(singles[i], count, spare, out);
	put_totals(columns, spare, out);
	strbuf_add(out, columns->ids, (size_t)count * sizeof(*columns->ids));
}

/* ---- decoding ---- */

static int damaged(struct error *err, const char *what)
{
	return error_set(err, ERROR_CORRUPT, "heads of a block are damaged: %s", what);
}

/* Groups are not empty, and their times ascend: both are searched in. */
static int check_order(const struct block_heads *heads, struct error *err)
{
	for (uint32_t group = 0; group < heads->group_count; group++) {
		if (heads->firsts[group] == heads->firsts[group + 1])
			return damaged(err, "a group without profiles");
		for (uint32_t i = heads->firsts[group] + 1; i < heads->firsts[group + 1]; i++)
			if (heads->times[i] < heads->times[i - 1])
				return damaged(err, "times do not ascend");
	}
	return 0;
}

static int decode_columns(struct byte_cursor *cursor, struct arena *arena,
                          struct block_heads *heads, struct error *err)
{
	const struct block_shape one = { heads->profile_count, 1, 1, 1 };
	const struct block_shape all = { heads->profile_count, heads->series_count, 1, 1 };
	uint32_t *groups;
	uint32_t *firsts;
	int64_t *times;

	if (block_index_decode_ids(cursor, heads->group_count, arena, &groups, err) < 0 ||
	    block_index_decode_firsts(cursor, heads->group_count, heads->profile_count, arena,
	                              &firsts, err) < 0 ||
	    block_values_decode_one(cursor, heads->profile_count, arena, &times, err) < 0 ||
	    block_values_decode(cursor, &one, arena, &heads->seqs, err) < 0 ||
	    block_values_decode(cursor, &one, arena, &heads->durations, err) < 0 ||
	    block_values_decode(cursor, &one, arena, &heads->received, err) < 0 ||
	    block_values_decode(cursor, &all, arena, &heads->totals, err) < 0)
		return -1;
	heads->groups = groups;
	heads->firsts = firsts;
	heads->times = times;
	return 0;
}

int block_heads_decode(struct str payload, struct arena *arena, struct block_heads *out,
                       struct error *err)
{
	struct byte_cursor cursor = byte_cursor(payload);
	const uint64_t profiles = byte_cursor_number(&cursor);
	const uint64_t groups = byte_cursor_number(&cursor);
	const uint64_t series = byte_cursor_number(&cursor);
	struct block_heads heads = {
		.profile_count = (uint32_t)profiles,
		.group_count = (uint32_t)groups,
		.series_count = (uint32_t)series,
	};

	if (cursor.failed || profiles > BLOCK_PROFILES_MAX || groups > profiles ||
	    series > SAMPLE_SERIES_MAX)
		return damaged(err, "counts");
	if (decode_columns(&cursor, arena, &heads, err) < 0)
		return -1;
	heads.ids = byte_cursor_run(&cursor, profiles * sizeof(struct uuid));
	if (!byte_cursor_done(&cursor))
		return damaged(err, "ids");
	if (check_order(&heads, err) < 0)
		return -1;
	*out = heads;
	return 0;
}

static int read_all(const struct block_heads *heads, const struct block_values *values,
                    uint32_t column, struct arena *arena, int64_t **out, struct error *err)
{
	int64_t *all = arena_array_raw(arena, heads->profile_count, sizeof(*all));
	struct block_series series;

	if (!all)
		return arena_error(arena, err);
	if (block_values_open(values, column, arena, &series, err) < 0)
		return -1;
	block_series_read(&series, 0, heads->profile_count, 0, 0, all);
	*out = all;
	return 0;
}

int block_heads_totals(const struct block_heads *heads, uint32_t series, struct arena *arena,
                       int64_t **out, struct error *err)
{
	return read_all(heads, &heads->totals, series, arena, out, err);
}

int block_heads_seqs(const struct block_heads *heads, struct arena *arena, int64_t **out,
                     struct error *err)
{
	return read_all(heads, &heads->seqs, 0, arena, out, err);
}

int block_heads_durations(const struct block_heads *heads, struct arena *arena, int64_t **out,
                          struct error *err)
{
	return read_all(heads, &heads->durations, 0, arena, out, err);
}

int block_heads_received(const struct block_heads *heads, struct arena *arena, int64_t **out,
                         struct error *err)
{
	return read_all(heads, &heads->received, 0, arena, out, err);
}

/* ---- searching ---- */

uint32_t block_heads_find(const struct block_heads *heads, uint32_t group)
{
	uint32_t low = 0;
	uint32_t high = heads->group_count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (heads->groups[middle] < group)
			low = middle + 1;
		else
			high = middle;
	}
	return low < heads->group_count && heads->groups[low] == group ? low : UINT32_MAX;
}

/* The first profile of [low, high) whose time is at least `time`. */
static uint32_t first_from(const struct block_heads *heads, uint32_t low, uint32_t high,
                           int64_t time_unix_ns)
{
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (heads->times[middle] < time_unix_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct block_span block_heads_within(const struct block_heads *heads, uint32_t group_index,
                                     int64_t start_unix_ns, int64_t end_unix_ns)
{
	const uint32_t end = heads->firsts[group_index + 1];
	struct block_span span;

	span.first = first_from(heads, heads->firsts[group_index], end, start_unix_ns);
	span.end = end_unix_ns == INT64_MAX ? end
	                                    : first_from(heads, span.first, end, end_unix_ns + 1);
	return span;
}

/* ---- origins ---- */

_Static_assert(sizeof(struct hash128) == 16, "origins are written as they lie");

void block_origins_encode(const struct hash128 *origins, uint32_t count, struct strbuf *out)
{
	strbuf_add(out, origins, (size_t)count * sizeof(*origins));
}

int block_origins_decode(struct str payload, uint32_t profile_count, struct arena *arena,
                         const struct hash128 **out, struct error *err)
{
	struct hash128 *origins;

	if (payload.length != (size_t)profile_count * sizeof(*origins))
		return error_set(err, ERROR_CORRUPT,
		                 "origins of a block are damaged: %zu bytes for %u profiles",
		                 payload.length, profile_count);
	origins = arena_array_raw(arena, profile_count, sizeof(*origins));
	if (!origins)
		return arena_error(arena, err);
	if (payload.length > 0)
		memcpy(origins, payload.data, payload.length);
	*out = origins;
	return 0;
}
