#include "storage/interner.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/content_index.h"
#include "storage/node_index.h"
#include "storage/stack_cache.h"

#define AHEAD 6 /* rows whose slots are fetched before they are looked up; a guess */

struct interner {
	struct symbol_table *table;
	struct content_index contents;
	struct node_index stacks;
	struct stack_cache cache; /* by the hash of a row */
	uint32_t *lists;          /* rows whose stacks are unknown, then locations without an id */
	size_t list_capacity;

	/* of the profile at hand */
	const struct profile *profile;
	const struct profile_hashes *hashes;
};

/* Gives the stacks that are known; returns how many rows have none, and which. */
static size_t find_known(struct interner *interner, const struct series_profile *profile,
                         uint32_t *out_stacks, uint32_t *out_unknown)
{
	const struct hash128 *hashes = interner->hashes->rows;
	size_t unknown = 0;

	for (size_t i = 0; i < profile->row_count; i++) {
		if (i + AHEAD < profile->row_count)
			stack_cache_prefetch(&interner->cache, hashes[i + AHEAD]);
		out_stacks[i] = 0;
		if (profile->rows[i].depth == 0)
			continue;
		out_stacks[i] = stack_cache_find(&interner->cache, hashes[i]);
		if (!out_stacks[i])
			out_unknown[unknown++] = (uint32_t)i;
	}
	return unknown;
}

/* The locations of these rows that have no id yet, each once, root first. */
static size_t list_locations(struct interner *interner, const struct series_profile *profile,
                             const uint32_t *rows, size_t row_count, uint32_t *out_locations)
{
	size_t listed = 0;

	for (size_t i = 0; i < row_count; i++) {
		const struct stored_row *row = &profile->rows[rows[i]];
		const uint32_t *stack = profile->profile->stacks + row->first_frame;

		for (uint32_t k = row->depth; k-- > 0;)
			listed += content_index_list(&interner->contents, stack[k],
			                             &out_locations[listed]);
	}
	return listed;
}

/* Steps from the root to the row's stack; below a new node there is nothing to find. */
static uint32_t walk(struct interner *interner, const struct stored_row *row)
{
	const uint32_t *stack = interner->profile->stacks + row->first_frame;
	uint32_t at = 0;
	uint32_t left = row->depth;

	while (left > 0) {
		const uint32_t location =
			content_index_location(&interner->contents, stack[left - 1]);
		const uint32_t known = node_index_find(&interner->stacks, at, location);

		if (!known)
			break;
		at = known;
		left--;
	}
	while (left-- > 0) {
		at = symbol_table_add_stack(interner->table, at,
		                            content_index_location(&interner->contents,
		                                                   stack[left]));
		node_index_add(&interner->stacks, at);
	}
	node_index_settle(&interner->stacks);
	return at;
}

static void walk_unknown(struct interner *interner, const struct series_profile *profile,
                         const uint32_t *rows, size_t count, uint32_t *out_stacks)
{
	for (size_t i = 0; i < count; i++) {
		const struct hash128 hash = interner->hashes->rows[rows[i]];
		uint32_t *stack = &out_stacks[rows[i]];

		*stack = stack_cache_find(&interner->cache, hash);
		if (*stack)
			continue; /* an equal one came a moment ago */
		*stack = walk(interner, &profile->rows[rows[i]]);
		stack_cache_put(&interner->cache, hash, *stack);
	}
}

/*
 * A profile adds at most as many of each kind as its bytes, far fewer than what is left
 * then.
 */
static int check_room(const struct interner *interner, struct error *err)
{
	for (int kind = 0; kind < SYMBOL_KIND_COUNT; kind++)
		if (interner->table->counts[kind] > SYMBOL_COUNT_MAX / 2)
			return error_set(err, ERROR_TOO_LARGE,
			                 "the day has more than %u symbols of a kind",
			                 SYMBOL_COUNT_MAX / 2);
	return 0;
}

static void start_profile(struct interner *interner, const struct series_profile *profile,
                          const struct profile_hashes *hashes)
{
	const size_t needed = profile->row_count + profile->profile->location_count;

	interner->profile = profile->profile;
	interner->hashes = hashes;
	content_index_begin(&interner->contents, profile->profile, hashes);
	if (needed > interner->list_capacity) {
		interner->list_capacity = needed;
		interner->lists = mem_resize(interner->lists, needed, sizeof(*interner->lists));
	}
}

int interner_add(struct interner *interner, const struct series_profile *profile,
                 const struct profile_hashes *hashes, uint32_t *out_stacks, struct error *err)
{
	uint32_t *rows;
	uint32_t *locations;
	size_t unknown;

	if (check_room(interner, err) < 0)
		return -1;
	start_profile(interner, profile, hashes);
	rows = interner->lists;
	locations = interner->lists + profile->row_count;
	unknown = find_known(interner, profile, out_stacks, rows);
	content_index_add(&interner->contents, locations,
	                  list_locations(interner, profile, rows, unknown, locations));
	walk_unknown(interner, profile, rows, unknown, out_stacks);
	return 0;
}

int interner_new(struct symbol_table *table, uint64_t key, struct interner **out, struct error *err)
{
	CLEANUP(interner_freep) struct interner *interner = mem_zalloc(1, sizeof(*interner));

	interner->table = table;
	if (content_index_init(&interner->contents, table, key, err) < 0)
		return -1;
	node_index_init(&interner->stacks, &table->columns[SYMBOL_STACK], key,
	                table->counts[SYMBOL_STACK]);
	*out = TAKE(interner);
	return 0;
}

void interner_free(struct interner *interner)
{
	if (!interner)
		return;
	content_index_fini(&interner->contents);
	node_index_fini(&interner->stacks);
	stack_cache_fini(&interner->cache);
	free(interner->lists);
	free(interner);
}

size_t interner_bytes(const struct interner *interner)
{
	return sizeof(*interner) + content_index_bytes(&interner->contents) +
	       stack_cache_bytes(&interner->cache) + node_index_bytes(&interner->stacks) +
	       interner->list_capacity * sizeof(*interner->lists);
}
