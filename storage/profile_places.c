#include "storage/profile_places.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/page.h"

#define RETRY_S     86400 /* a profile sent again within this time is stored once */
#define KEPT_BLOCKS 4     /* looked into last; a guess */

/* A block that was looked into. */
struct kept_block {
	struct arena *arena; /* NULL: none */
	struct block_row row;
	struct block_heads heads;
	int64_t *seqs;
	int64_t *received;             /* NULL: not yet asked for */
	const struct hash128 *origins; /* likewise, or there are none */
	bool has_origins;              /* `origins` is what there is */
	uint64_t used;
};

struct profile_places {
	struct statement *find;
	struct block_table *blocks; /* NULL: none */
	int64_t last_hour;          /* that has a block: most profiles come behind it */
	struct arena *arena;        /* of one look */
	struct kept_block kept[KEPT_BLOCKS];
	uint64_t looks;
};

/* What is looked for, and what was found so far. */
struct search {
	const struct profile_place *place;
	int64_t seq;
	bool retry;
};

static void profile_places_closep(struct profile_places **places)
{
	profile_places_close(*places);
}

int profile_places_open(struct database *database, struct profile_places **out, struct error *err)
{
	CLEANUP(profile_places_closep)
	struct profile_places *places = mem_zalloc(1, sizeof(*places));

	places->arena = arena_new(PAGE_RAW_MAX, NULL);
	places->last_hour = INT64_MIN;
	if (database_prepare(database,
	                     "SELECT seq, origin, received FROM profile WHERE grp = ? AND time = ? "
	                     "ORDER BY seq",
	                     &places->find, err) < 0)
		return -1;
	*out = TAKE(places);
	return 0;
}

static void forget(struct kept_block *kept)
{
	arena_free(kept->arena);
	*kept = (struct kept_block){ 0 };
}

void profile_places_close(struct profile_places *places)
{
	if (!places)
		return;
	for (size_t i = 0; i < KEPT_BLOCKS; i++)
		forget(&places->kept[i]);
	statement_free(places->find);
	arena_free(places->arena);
	free(places);
}

int profile_places_blocks_changed(struct profile_places *places, struct block_table *blocks,
                                  struct error *err)
{
	for (size_t i = 0; i < KEPT_BLOCKS; i++)
		forget(&places->kept[i]);
	places->blocks = blocks;
	places->last_hour = INT64_MIN;
	return blocks ? block_table_last_hour(blocks, &places->last_hour, err) : 0;
}

/* ---- rows ---- */

/* One of the same group and time: is it the same profile, sent a second time? */
static void note(struct search *search, int64_t seq, const struct hash128 *origin,
                 int64_t received_s)
{
	const struct profile_place *place = search->place;
	const int64_t age = place->now_s - received_s;

	if (seq >= search->seq && seq < INT64_MAX) /* as no row of ours has */
		search->seq = seq + 1;
	if (origin && !hash128_is_zero(place->origin) && hash128_equal(*origin, place->origin) &&
	    age <= RETRY_S && age >= -RETRY_S)
		search->retry = true;
}

static int search_rows(struct profile_places *places, struct search *search, struct error *err)
{
	struct statement *find = places->find;
	int more;

	statement_bind_int(find, 1, search->place->group);
	statement_bind_int(find, 2, search->place->time_unix_ns);
	while ((more = statement_step(find, err)) > 0 && !search->retry) {
		const struct str bytes = statement_bytes(find, 1);
		struct hash128 origin;

		if (bytes.length == sizeof(origin))
			memcpy(&origin, bytes.data, sizeof(origin));
		note(search, statement_int(find, 0),
		     bytes.length == sizeof(origin) ? &origin : NULL, statement_int(find, 2));
	}
	statement_reset(find);
	return more < 0 ? -1 : 0;
}

/* ---- blocks ---- */

static int look_into(struct profile_places *places, const struct block_row *row,
                     struct kept_block *kept, struct error *err)
{
	forget(kept);
	kept->arena = arena_new(PAGE_RAW_MAX, NULL);
	kept->row = *row;
	kept->row.groups = NULL; /* of the look; heads have them */
	if (block_table_heads(places->blocks, row, kept->arena, &kept->heads, err) == 0 &&
	    block_heads_seqs(&kept->heads, kept->arena, &kept->seqs, err) == 0)
		return 0;
	forget(kept);
	return -1;
}

static bool is_same(const struct block_key *a, const struct block_key *b)
{
	return a->family == b->family && a->hour == b->hour && a->part == b->part;
}

/* The block as it was kept, or in the place of the one that was not used for longest. */
static int keep(struct profile_places *places, const struct block_row *row, struct kept_block **out,
                struct error *err)
{
	struct kept_block *oldest = &places->kept[0];

	for (size_t i = 0; i < KEPT_BLOCKS; i++) {
		struct kept_block *kept = &places->kept[i];

		if (kept->arena && is_same(&kept->row.key, &row->key)) {
			*out = kept;
			kept->used = ++places->looks;
			return 0;
		}
		if (kept->used < oldest->used)
			oldest = kept;
	}
	if (look_into(places, row, oldest, err) < 0)
		return -1;
	oldest->used = ++places->looks;
	*out = oldest;
	return 0;
}

static int need_origins(struct profile_places *places, struct kept_block *kept, struct error *err)
{
	if (kept->has_origins)
		return 0;
	if (block_table_origins(places->blocks, &kept->row, kept->arena, &kept->origins, err) < 0 ||
	    block_heads_received(&kept->heads, kept->arena, &kept->received, err) < 0)
		return -1;
	kept->has_origins = true;
	return 0;
}

static int search_block(struct profile_places *places, const struct block_row *row, uint32_t group,
                        struct search *search, struct error *err)
{
	const int64_t time = search->place->time_unix_ns;
	struct kept_block *kept;
	struct block_span found;

	if (keep(places, row, &kept, err) < 0)
		return -1;
	found = block_heads_within(&kept->heads, group, time, time);
	if (found.first >= found.end)
		return 0;
	if (need_origins(places, kept, err) < 0)
		return -1;
	for (uint32_t i = found.first; i < found.end; i++)
		note(search, kept->seqs[i], kept->origins ? &kept->origins[i] : NULL,
		     kept->received[i]);
	return 0;
}

static int search_blocks(struct profile_places *places, struct search *search, struct error *err)
{
	const struct profile_place *place = search->place;
	const int64_t hour = block_hour_of(place->time_unix_ns);
	struct block_listing listing = { 0 };

	if (!places->blocks || hour > places->last_hour)
		return 0;
	arena_reset(places->arena);
	if (block_table_list(places->blocks, place->family, hour, hour, places->arena, &listing,
	                     err) < 0)
		return -1;
	for (size_t i = 0; i < listing.count && !search->retry; i++) {
		const struct block_row *row = &listing.rows[i];
		uint32_t group;

		if (row->first_unix_ns > place->time_unix_ns ||
		    row->last_unix_ns < place->time_unix_ns ||
		    !block_row_find(row, place->group, &group))
			continue;
		if (search_block(places, row, group, search, err) < 0)
			return -1;
	}
	return 0;
}

int profile_places_find(struct profile_places *places, const struct profile_place *place,
                        int64_t *out_seq, bool *out_retry, struct error *err)
{
	struct search search = { .place = place };

	if (search_rows(places, &search, err) < 0)
		return -1;
	if (!search.retry && search_blocks(places, &search, err) < 0)
		return -1;
	*out_seq = search.seq;
	*out_retry = search.retry;
	return 0;
}
