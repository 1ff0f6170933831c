#include "storage/block_join.h"

#include "storage/block_contents.h"
#include "storage/page.h"

struct joined_part {
	struct block_contents contents;
	uint32_t next; /* profile */
};

struct join {
	struct joined_part parts[BLOCK_JOIN_PARTS];
	size_t count;
	struct block_builder *builder;
	struct arena *profile; /* of one */
	struct block_joined *out;
	uint32_t *groups; /* of its row */
};

static bool is_same_hour(const struct block_row *a, const struct block_row *b)
{
	return a->key.family == b->key.family && a->key.hour == b->key.hour;
}

size_t block_join_count(const struct block_listing *listing, size_t first)
{
	const struct block_row *rows = &listing->rows[first];
	const size_t left = listing->count - first;
	uint64_t profiles = rows[0].profile_count;
	size_t count = 1;

	while (count < left && count < BLOCK_JOIN_PARTS && is_same_hour(&rows[0], &rows[count]) &&
	       profiles + rows[count].profile_count <= BLOCK_PROFILES_MAX)
		profiles += rows[count++].profile_count;
	return count;
}

/* ---- the order of profiles ---- */

static uint32_t group_at(const struct joined_part *part)
{
	return part->contents.heads.groups[block_contents_group(&part->contents, part->next)];
}

static bool comes_before(const struct joined_part *a, const struct joined_part *b)
{
	const uint32_t group_a = group_at(a);
	const uint32_t group_b = group_at(b);
	const int64_t time_a = a->contents.heads.times[a->next];
	const int64_t time_b = b->contents.heads.times[b->next];

	if (group_a != group_b)
		return group_a < group_b;
	if (time_a != time_b)
		return time_a < time_b;
	return a->contents.seqs[a->next] < b->contents.seqs[b->next];
}

/* The part whose next profile comes first; NULL at the end. */
static struct joined_part *first_part(struct join *join)
{
	struct joined_part *first = NULL;

	for (size_t i = 0; i < join->count; i++) {
		struct joined_part *part = &join->parts[i];

		if (part->next < part->contents.heads.profile_count &&
		    (!first || comes_before(part, first)))
			first = part;
	}
	return first;
}

/* ---- joining ---- */

static void note(struct join *join, uint32_t group)
{
	struct block_row *row = &join->out->row;

	if (row->group_count == 0 || join->groups[row->group_count - 1] != group)
		join->groups[row->group_count++] = group;
	row->profile_count++;
}

static int add_next(struct join *join, struct joined_part *part, struct error *err)
{
	struct block_profile profile;
	struct sample_page page;

	arena_reset(join->profile);
	if (block_contents_take(&part->contents, part->next, join->profile, &profile, &page, err) <
	    0)
		return -1;
	join->out->fits = block_builder_fits(join->builder, page.row_count);
	if (!join->out->fits)
		return 0;
	profile.origin = (struct hash128){ 0 };
	if (block_builder_add(join->builder, &profile, &page, join->profile, err) < 0)
		return -1;
	note(join, profile.group);
	part->next++;
	return 0;
}

static int add_all(struct join *join, struct error *err)
{
	struct joined_part *part;

	while (join->out->fits && (part = first_part(join)))
		if (add_next(join, part, err) < 0)
			return -1;
	return 0;
}

static int read_parts(struct join *join, const struct block_join_parts *parts, struct error *err)
{
	uint64_t row_count = 0;

	/* no further than what does not fit: all of them may be as large as a block can be */
	for (size_t i = 0; i < join->count && row_count <= BLOCK_ROWS_MAX; i++) {
		struct block_contents *contents = &join->parts[i].contents;

		if (block_contents_read(parts->table, &parts->rows[i], parts->scratch, contents,
		                        err) < 0)
			return -1;
		if (contents->series_count != join->parts[0].contents.series_count)
			return block_row_damaged(&parts->rows[i],
			                         "it has other series than its family", err);
		row_count += contents->rows.firsts[contents->heads.profile_count];
	}
	join->out->fits = row_count <= BLOCK_ROWS_MAX;
	return 0;
}

static struct block_row row_of(const struct block_row *rows, size_t count)
{
	struct block_row row = {
		.key = rows[0].key,
		.first_unix_ns = rows[0].first_unix_ns,
		.last_unix_ns = rows[0].last_unix_ns,
	};

	for (size_t i = 1; i < count; i++) {
		if (rows[i].first_unix_ns < row.first_unix_ns)
			row.first_unix_ns = rows[i].first_unix_ns;
		if (rows[i].last_unix_ns > row.last_unix_ns)
			row.last_unix_ns = rows[i].last_unix_ns;
	}
	return row;
}

static int build(struct join *join, const struct block_join_parts *parts, struct error *err)
{
	const uint32_t series = join->parts[0].contents.series_count;

	if (block_builder_new(series, parts->budget, &join->builder, err) < 0 ||
	    add_all(join, err) < 0)
		return -1;
	return join->out->fits ? block_builder_finish(join->builder, &join->out->bodies, err) : 0;
}

static int keep_groups(const struct join *join, struct arena *kept, struct error *err)
{
	struct block_row *row = &join->out->row;
	uint32_t *groups = arena_array_raw(kept, row->group_count, sizeof(*groups));

	if (!groups)
		return arena_error(kept, err);
	memcpy(groups, join->groups, row->group_count * sizeof(*groups));
	row->groups = groups;
	return 0;
}

int block_join_make(const struct block_join_parts *parts, struct block_joined *out,
                    struct error *err)
{
	CLEANUP(arena_freep) struct arena *profile = arena_new(2 * PAGE_RAW_MAX, parts->budget);
	struct join join = { .count = parts->count, .profile = profile, .out = out };
	int result;

	*out = (struct block_joined){ .row = row_of(parts->rows, parts->count) };
	join.groups = arena_array_raw(parts->scratch, BLOCK_PROFILES_MAX, sizeof(*join.groups));
	if (!join.groups)
		return arena_error(parts->scratch, err);
	if (read_parts(&join, parts, err) < 0)
		return -1;
	if (!out->fits)
		return 0;
	result = build(&join, parts, err);
	block_builder_free(join.builder);
	if (result < 0 || !out->fits)
		return result;
	return keep_groups(&join, parts->kept, err);
}
