#include "storage/block_cutter.h"

#include "storage/kept_samples.h"
#include "storage/page.h"

/* A block, and what becomes of each of its profiles. */
struct cut {
	const struct block_cutter_parts *parts;
	const struct block_row *row;
	const struct window_removal **fates; /* by profile; NULL: it stays as it is */
	uint32_t going;                      /* profiles that lose something */
	bool any_stays;
	struct arena *arena;
	struct arena *scratch; /* of one profile */
};

/* ---- which block ---- */

static bool is_behind(const struct block_removal *removal, const struct block_key *key)
{
	if (!removal->within)
		return true;
	return key->hour > removal->hour ||
	       (key->hour == removal->hour && key->part > removal->part);
}

static const struct window_removal *find_run(const struct block_removal *removal, uint32_t group)
{
	size_t low = 0;
	size_t high = removal->run_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (removal->runs[middle].group < group)
			low = middle + 1;
		else
			high = middle;
	}
	return low < removal->run_count && removal->runs[low].group == group ? &removal->runs[low]
	                                                                     : NULL;
}

static bool concerns(const struct block_removal *removal, const struct block_row *row)
{
	for (uint32_t i = 0; i < row->group_count; i++) {
		const struct window_removal *run = find_run(removal, row->groups[i]);

		if (run && run->start_unix_ns <= row->last_unix_ns &&
		    run->end_unix_ns >= row->first_unix_ns)
			return true;
	}
	return false;
}

/* The next block to look into; NULL at the end. */
static int find_next(struct block_table *blocks, struct block_removal *removal, struct arena *arena,
                     const struct block_row **out, struct error *err)
{
	const int64_t first = removal->within ? removal->hour : block_hour_of(INT64_MIN);
	struct block_listing listing = { 0 };

	*out = NULL;
	if (block_table_list(blocks, removal->family, first, block_hour_of(INT64_MAX), arena,
	                     &listing, err) < 0)
		return -1;
	for (size_t i = 0; i < listing.count && !*out; i++) {
		const struct block_row *row = &listing.rows[i];

		if (is_behind(removal, &row->key) && concerns(removal, row))
			*out = row;
	}
	return 0;
}

/* ---- what becomes of its profiles ---- */

static const struct window_removal *fate_of(const struct window_removal *run,
                                            const struct block_heads *heads, uint32_t profile)
{
	const struct uuid id = block_heads_id(heads, profile);

	if (!run || heads->times[profile] < run->start_unix_ns ||
	    heads->times[profile] > run->end_unix_ns ||
	    (run->filter && !sample_filter_has_profile(run->filter, &id)))
		return NULL;
	return run;
}

static int find_fates(const struct block_removal *removal, struct cut *cut, uint64_t *removed,
                      struct error *err)
{
	struct block_heads heads;

	cut->fates = arena_array_raw(cut->arena, cut->row->profile_count, sizeof(*cut->fates));
	if (!cut->fates)
		return arena_error(cut->arena, err);
	if (block_table_heads(cut->parts->blocks, cut->row, cut->arena, &heads, err) < 0)
		return -1;
	for (uint32_t group = 0; group < heads.group_count; group++) {
		const struct window_removal *run = find_run(removal, heads.groups[group]);

		for (uint32_t i = heads.firsts[group]; i < heads.firsts[group + 1]; i++) {
			cut->fates[i] = fate_of(run, &heads, i);
			cut->any_stays = cut->any_stays || !cut->fates[i] || run->keep;
			cut->going += cut->fates[i] != NULL;
			*removed += cut->fates[i] ? run->going : 0;
		}
	}
	return 0;
}

/* ---- taking apart ---- */

/* A profile that loses series goes to the group that is left. */
static int put_kept(struct cut *cut, const struct window_removal *run,
                    struct block_profile *profile, int64_t *totals,
                    const struct sample_columns *samples, struct error *err)
{
	const struct profile_place place = {
		.family = run->target_family,
		.group = run->target,
		.time_unix_ns = profile->time_unix_ns,
	};
	struct sample_columns kept;
	size_t count = 0;
	bool retry;

	if (kept_samples_make(samples, run->keep, cut->scratch, &kept, err) < 0 ||
	    profile_places_find(cut->parts->places, &place, &profile->seq, &retry, err) < 0)
		return -1;
	for (size_t i = 0; i < samples->series_count; i++)
		if (run->keep[i])
			totals[count++] = totals[i];
	profile->group = run->target;
	return fresh_rows_put(cut->parts->rows, profile, &kept, err);
}

static int put_profile(struct cut *cut, const struct block_contents *contents, uint32_t index,
                       struct error *err)
{
	const struct window_removal *run = cut->fates[index];
	int64_t *totals;
	const int64_t **values;
	struct block_profile profile;
	struct sample_columns samples;

	if (run && !run->keep)
		return 0;
	arena_reset(cut->scratch);
	totals = arena_array_raw(cut->scratch, contents->series_count, sizeof(*totals));
	values = arena_array_raw(cut->scratch, contents->series_count, sizeof(*values));
	if (!totals || !values)
		return arena_error(cut->scratch, err);
	block_contents_profile(contents, index, totals, &profile);
	block_contents_samples(contents, index, values, &samples);
	if (run)
		return put_kept(cut, run, &profile, totals, &samples, err);
	return fresh_rows_put(cut->parts->rows, &profile, &samples, err);
}

static int take_apart(struct cut *cut, struct error *err)
{
	struct block_contents contents;

	if (block_contents_read(cut->parts->blocks, cut->row, cut->arena, &contents, err) < 0)
		return -1;
	if (contents.series_count > SAMPLE_SERIES_MAX)
		return block_row_damaged(cut->row, "it has too many series", err);
	for (uint32_t i = 0; i < cut->row->profile_count; i++)
		if (put_profile(cut, &contents, i, err) < 0)
			return -1;
	return 0;
}

static int cut_block(struct cut *cut, struct block_removal *removal, struct block_removed *out,
                     struct error *err)
{
	removal->hour = cut->row->key.hour;
	removal->part = cut->row->key.part;
	removal->within = true;
	if (find_fates(removal, cut, &out->removed, err) < 0)
		return -1;
	if (cut->going == 0)
		return 0;
	if (cut->any_stays && take_apart(cut, err) < 0)
		return -1;
	return block_table_delete(cut->parts->blocks, cut->row, err);
}

int block_cutter_next(const struct block_cutter_parts *parts, struct block_removal *removal,
                      struct block_removed *out, struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(2 * PAGE_RAW_MAX, NULL);
	CLEANUP(arena_freep) struct arena *scratch = arena_new(2 * PAGE_RAW_MAX, NULL);
	struct cut cut = { .parts = parts, .arena = arena, .scratch = scratch };

	*out = (struct block_removed){ 0 };
	if (find_next(parts->blocks, removal, arena, &cut.row, err) < 0)
		return -1;
	if (!cut.row) {
		out->done = true;
		return 0;
	}
	return cut_block(&cut, removal, out, err);
}
