#include "storage/compaction.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/varint.h"
#include "storage/block_contents.h"
#include "storage/byte_cursor.h"
#include "storage/page.h"

#define OLD_MAX    16 /* blocks that are taken in at once */
#define OLD_FACTOR 2  /* how much larger one may be than what comes to it; a guess */
#define MEMORY_MAX ((size_t)512 << 20)

/* The next profile of one source. */
struct candidate {
	uint32_t group;
	int64_t time_unix_ns;
	int64_t seq;
};

struct old_block {
	struct block_contents contents;
	uint32_t next;
};

/* Where the profiles come from, and where they go. */
struct build {
	const struct due_block *due;
	struct reader *reader;
	struct compaction *out;
	struct block_builder *builder;
	struct budget *budget;
	uint32_t series_count;
	struct arena *scratch; /* of one profile */

	/* fresh rows, a run each group */
	struct reader_run *runs;
	struct reader_cursor cursor;
	const struct reader_row *rows;
	size_t row;
	size_t row_count;

	struct old_block old[OLD_MAX];
	size_t old_count;

	/* what the block has so far */
	uint32_t *groups;
	uint32_t group_count;
	struct exchange_rows *taken;
	size_t taken_count;
	bool full;
};

/* ---- fresh rows ---- */

static int begin_rows(struct build *build, struct error *err)
{
	const struct due_block *due = build->due;
	struct arena *arena = build->out->arena;

	build->runs = arena_array_raw(arena, due->group_count, sizeof(*build->runs));
	build->taken = arena_array_raw(arena, due->group_count, sizeof(*build->taken));
	if (!build->runs || !build->taken)
		return arena_error(arena, err);
	for (size_t i = 0; i < due->group_count; i++)
		build->runs[i] = (struct reader_run){
			.group = due->groups[i].group,
			.start_unix_ns = block_hour_first(due->hour),
			.end_unix_ns = block_hour_last(due->hour),
		};
	build->cursor = (struct reader_cursor){
		.runs = build->runs,
		.run_count = due->group_count,
		.want = READER_WHOLE,
	};
	return 0;
}

/* The next fresh row, or NULL at the end. */
static int peek_row(struct build *build, const struct reader_row **out, struct error *err)
{
	*out = NULL;
	if (build->row == build->row_count) {
		if (reader_next(build->reader, &build->cursor, &build->rows, &build->row_count,
		                err) < 0)
			return -1;
		build->row = 0;
	}
	if (build->row < build->row_count)
		*out = &build->rows[build->row];
	return 0;
}

static int decode_totals(const struct build *build, const struct reader_row *row,
                         const int64_t **out, struct error *err)
{
	struct byte_cursor cursor = byte_cursor(row->totals);
	int64_t *totals = arena_array_raw(build->scratch, build->series_count, sizeof(*totals));

	if (!totals)
		return arena_error(build->scratch, err);
	for (uint32_t i = 0; i < build->series_count; i++)
		totals[i] = (int64_t)byte_cursor_number(&cursor);
	if (!byte_cursor_done(&cursor))
		return error_set(err, ERROR_CORRUPT,
		                 "totals of samples %lld are not those of %u series",
		                 (long long)row->sample, build->series_count);
	*out = totals;
	return 0;
}

/* Whether the profiles of a group that begins now fit as well, as far as can be told. */
static bool fits_whole(const struct build *build, uint64_t profiles)
{
	const uint64_t have = block_builder_profiles(build->builder);
	const uint64_t rows = block_builder_rows(build->builder);

	return have == 0 || (have + profiles <= BLOCK_PROFILES_MAX &&
	                     rows + rows / have * profiles <= BLOCK_ROWS_MAX);
}

static bool begins_group(const struct build *build, const struct reader_row *row)
{
	return build->taken_count == 0 ||
	       build->taken[build->taken_count - 1].group != build->runs[row->run].group;
}

/* Notes that the row is in the block. */
static void take_row(struct build *build, const struct reader_row *row)
{
	struct block_exchange *exchange = &build->out->exchange;
	struct exchange_rows *taken;

	if (begins_group(build, row))
		build->taken[build->taken_count++] = (struct exchange_rows){
			.group = build->runs[row->run].group,
			.first_unix_ns = build->runs[row->run].start_unix_ns,
		};
	taken = &build->taken[build->taken_count - 1];
	taken->last_unix_ns = row->time_unix_ns;
	taken->last_seq = row->seq;
	if (row->sample > exchange->last_sample)
		exchange->last_sample = row->sample;
	exchange->profile_count++;
	build->row++;
}

/* ---- what the block has ---- */

static void note_group(struct build *build, uint32_t group)
{
	if (build->group_count == 0 || build->groups[build->group_count - 1] != group)
		build->groups[build->group_count++] = group;
}

static int add(struct build *build, const struct block_profile *profile,
               const struct sample_page *page, struct error *err)
{
	struct block_row *row = &build->out->exchange.row;

	if (!block_builder_fits(build->builder, page->row_count)) {
		build->full = true;
		return 0;
	}
	if (block_builder_add(build->builder, profile, page, build->scratch, err) < 0)
		return -1;
	note_group(build, profile->group);
	if (row->profile_count == 0 || profile->time_unix_ns < row->first_unix_ns)
		row->first_unix_ns = profile->time_unix_ns;
	if (row->profile_count == 0 || profile->time_unix_ns > row->last_unix_ns)
		row->last_unix_ns = profile->time_unix_ns;
	row->profile_count++;
	return 0;
}

static int add_row(struct build *build, const struct reader_row *row, struct error *err)
{
	struct block_profile profile = {
		.group = build->runs[row->run].group,
		.time_unix_ns = row->time_unix_ns,
		.seq = row->seq,
		.id = row->id,
		.origin = row->origin,
		.duration_ns = row->duration_ns,
		.received_s = row->received_s,
	};
	struct sample_page page;
	struct str raw;

	if (begins_group(build, row) &&
	    !fits_whole(build, build->due->groups[row->run].profile_count)) {
		build->full = true;
		return 0;
	}
	arena_reset(build->scratch);
	if (page_open(row->body, build->scratch, &raw, err) < 0 ||
	    sample_page_decode(raw, build->scratch, &page, err) < 0 ||
	    decode_totals(build, row, &profile.totals, err) < 0)
		return -1;
	if (page.series_count != build->series_count)
		return error_set(err, ERROR_CORRUPT, "samples %lld have %u series, their group %u",
		                 (long long)row->sample, page.series_count, build->series_count);
	if (add(build, &profile, &page, err) < 0)
		return -1;
	if (!build->full)
		take_row(build, row);
	return 0;
}

/* A profile of a block comes as fresh ones do: as a page of samples. */
static int add_old(struct build *build, struct old_block *old, struct error *err)
{
	struct block_profile profile;
	struct sample_page page;

	arena_reset(build->scratch);
	if (block_contents_take(&old->contents, old->next, build->scratch, &profile, &page, err) <
	            0 ||
	    add(build, &profile, &page, err) < 0)
		return -1;
	old->next += !build->full;
	return 0;
}

/* ---- the order of profiles ---- */

static struct candidate of_row(const struct build *build, const struct reader_row *row)
{
	return (struct candidate){ build->runs[row->run].group, row->time_unix_ns, row->seq };
}

static struct candidate of_old(const struct old_block *old)
{
	const struct block_contents *contents = &old->contents;
	const uint32_t group = block_contents_group(contents, old->next);

	return (struct candidate){ contents->heads.groups[group], contents->heads.times[old->next],
		                   contents->seqs[old->next] };
}

static bool is_before(const struct candidate *a, const struct candidate *b)
{
	if (a->group != b->group)
		return a->group < b->group;
	if (a->time_unix_ns != b->time_unix_ns)
		return a->time_unix_ns < b->time_unix_ns;
	return a->seq < b->seq;
}

/* The old block whose next profile comes first; NULL: all have ended. */
static struct old_block *first_old(struct build *build, struct candidate *out)
{
	struct old_block *first = NULL;

	for (size_t i = 0; i < build->old_count; i++) {
		struct old_block *old = &build->old[i];
		struct candidate candidate;

		if (old->next == old->contents.heads.profile_count)
			continue;
		candidate = of_old(old);
		if (!first || is_before(&candidate, out)) {
			first = old;
			*out = candidate;
		}
	}
	return first;
}

/* Takes the next profile of all sources. Gives 1, or 0 at the end. */
static int step(struct build *build, struct error *err)
{
	struct candidate of_first = { 0 };
	struct old_block *old = first_old(build, &of_first);
	const struct reader_row *row;
	struct candidate fresh;

	if (peek_row(build, &row, err) < 0)
		return -1;
	if (!row && !old)
		return 0;
	if (row)
		fresh = of_row(build, row);
	if (old && (!row || is_before(&of_first, &fresh)))
		return add_old(build, old, err) < 0 ? -1 : 1;
	return add_row(build, row, err) < 0 ? -1 : 1;
}

/* ---- old blocks ---- */

static int by_size(const void *left, const void *right)
{
	const struct block_row *a = left;
	const struct block_row *b = right;

	return (a->profile_count > b->profile_count) - (a->profile_count < b->profile_count);
}

/* How many of the hour's blocks, the smallest first, are taken in. */
static size_t choose_old(const struct block_listing *listing, uint64_t fresh)
{
	uint64_t profiles = fresh;
	size_t count = 0;

	while (count < listing->count && count < OLD_MAX &&
	       listing->rows[count].profile_count <= OLD_FACTOR * profiles &&
	       profiles + listing->rows[count].profile_count <= BLOCK_PROFILES_MAX)
		profiles += listing->rows[count++].profile_count;
	return count;
}

static int read_old(struct build *build, struct error *err)
{
	struct block_table *blocks = reader_blocks(build->reader);
	struct arena *arena = build->out->arena;
	struct block_listing listing = { 0 };
	uint64_t rows = 0;
	size_t count;

	if (!blocks)
		return 0;
	if (block_table_list(blocks, build->due->family, build->due->hour, build->due->hour, arena,
	                     &listing, err) < 0)
		return -1;
	if (listing.count > 1)
		qsort(listing.rows, listing.count, sizeof(*listing.rows), by_size);
	count = choose_old(&listing, build->due->profile_count);
	for (size_t i = 0; i < count; i++) {
		struct old_block *old = &build->old[i];

		if (block_contents_read(blocks, &listing.rows[i], arena, &old->contents, err) < 0)
			return -1;
		if (old->contents.series_count != build->series_count)
			return block_row_damaged(&listing.rows[i],
			                         "it has other series than its groups", err);
		rows += old->contents.rows.firsts[old->contents.rows.profile_count];
	}
	/* fresh rows may take half: else they stay apart */
	build->old_count = rows <= BLOCK_ROWS_MAX / 2 ? count : 0;
	build->out->exchange.old = listing.rows;
	return 0;
}

/* ---- all together ---- */

static int fill(struct build *build, struct error *err)
{
	int more;

	if (block_builder_new(build->series_count, build->budget, &build->builder, err) < 0)
		return -1;
	while ((more = step(build, err)) > 0 && !build->full)
		;
	return more < 0 ? -1 : 0;
}

/* Begins anew without old blocks: not everything fitted, and their profiles must all. */
static int fill_without_old(struct build *build, struct error *err)
{
	struct compaction *out = build->out;
	const struct block_key key = out->exchange.row.key;

	block_builder_free(TAKE(build->builder));
	out->exchange = (struct block_exchange){ .row = { .key = key } };
	build->old_count = 0;
	build->row = build->row_count = 0;
	build->group_count = 0;
	build->taken_count = 0;
	build->full = false;
	return begin_rows(build, err) < 0 ? -1 : fill(build, err);
}

static void close_exchange(struct build *build)
{
	struct compaction *out = build->out;
	struct block_exchange *exchange = &out->exchange;

	exchange->row.groups = build->groups;
	exchange->row.group_count = build->group_count;
	exchange->rows = build->taken;
	exchange->rows_count = build->taken_count;
	exchange->old_count = build->old_count;
	exchange->bodies = &out->bodies;
	out->is_full = build->full;
}

static int make(struct build *build, struct error *err)
{
	struct arena *arena = build->out->arena;

	build->groups = arena_array_raw(arena, BLOCK_PROFILES_MAX, sizeof(*build->groups));
	if (!build->groups)
		return arena_error(arena, err);
	if (begin_rows(build, err) < 0 || read_old(build, err) < 0 || fill(build, err) < 0)
		return -1;
	if (build->full && build->old_count > 0 && fill_without_old(build, err) < 0)
		return -1;
	if (build->out->exchange.profile_count == 0)
		return error_set(err, ERROR_UNAVAILABLE, "the rows of an hour have gone");
	close_exchange(build);
	return block_builder_finish(build->builder, &build->out->bodies, err);
}

int compaction_make(struct reader *reader, const struct series_view *series,
                    const struct due_block *due, struct budget *budget, struct compaction *out,
                    struct error *err)
{
	CLEANUP(arena_freep) struct arena *scratch = arena_new(2 * PAGE_RAW_MAX, budget);
	struct build build = {
		.due = due,
		.reader = reader,
		.out = out,
		.budget = budget,
		.series_count = series_view_group(series, due->groups[0].group)->count,
		.scratch = scratch,
	};
	int result;

	*out = (struct compaction){
		.arena = arena_new(MEMORY_MAX, budget),
		.exchange = { .row = { .key = { .family = due->family, .hour = due->hour } } },
	};
	result = make(&build, err);
	block_builder_free(build.builder);
	return result;
}

void compaction_fini(struct compaction *compaction)
{
	arena_free(compaction->arena);
	block_bodies_fini(&compaction->bodies);
	*compaction = (struct compaction){ 0 };
}
