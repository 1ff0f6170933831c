/*
 * What a window's strings, functions, mappings and locations are found by: the hashes
 * that a sender's side made of them.
 *
 * Shape    a map a kind over a symbol table. A string, function or mapping is found by
 *          its part (profile_hashes.h), a function beside it by its kind, which depends
 *          on the mapping that it was seen in; a location by its hash. So what is known
 *          is found without a look at what it consists of. What one profile asked for is
 *          not asked again.
 * Errors   ERROR_CORRUPT for a table that has an entry twice.
 * Threads  none: the writer's.
 */
#pragma once

#include "base/error.h"
#include "base/id_map.h"
#include "storage/id_memo.h"
#include "storage/profile_hashes.h"
#include "storage/symbol_table.h"

struct content_index {
	struct symbol_table *table;
	struct id_map strings; /* ids are those of the table */
	struct id_map functions;
	struct id_map mappings;
	struct id_map locations;

	/* of the profile at hand */
	const struct profile *profile;
	const struct profile_hashes *hashes;
	struct id_memo location_ids;
	struct id_memo string_ids;
	struct id_memo mapping_ids;
	struct id_memo function_ids; /* as seen in the mapping below: the kind depends on it */
	struct id_memo function_mappings;
	struct symbol_line *lines; /* of one location */
	size_t line_capacity;
};

/* `index` is zeroed; `table`'s entries are indexed at once. `key` is the store's. */
int content_index_init(struct content_index *index, struct symbol_table *table, uint64_t key,
                       struct error *err);
void content_index_fini(struct content_index *index); /* fine on a zeroed one */

/* What follows is about this profile, which stays where it is meanwhile. */
void content_index_begin(struct content_index *index, const struct profile *profile,
                         const struct profile_hashes *hashes);

/*
 * Lists a location (an index of the profile) when it has no id yet and is not listed.
 * Returns how many were listed: 0 or 1.
 */
static inline size_t content_index_list(struct content_index *index, uint32_t location,
                                        uint32_t *out)
{
	uint32_t *known =
		id_memo_at(&index->location_ids, location, index->profile->location_count);

	if (*known)
		return 0;
	*known = ID_MAP_NONE; /* listed */
	*out = location;
	return 1;
}

/* Gives the listed locations their ids; what is new is added to the table. */
void content_index_add(struct content_index *index, uint32_t *locations, size_t count);

/* The id of a location that was added. */
static inline uint32_t content_index_location(const struct content_index *index, uint32_t location)
{
	return index->location_ids.next_ids[location] - 1;
}

/* Memory of the maps; the table is not counted. */
size_t content_index_bytes(const struct content_index *index);
