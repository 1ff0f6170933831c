#include "storage/interner.h"

#include <stdlib.h>

#include "base/id_map.h"
#include "base/mem.h"
#include "storage/id_memo.h"
#include "storage/node_index.h"
#include "storage/stack_cache.h"

#define AHEAD 6 /* rows whose slots are fetched before they are looked up; a guess */

struct interner {
	struct symbol_table *table;
	uint64_t key;
	struct id_map strings; /* ids are those of the table */
	struct id_map functions;
	struct id_map mappings;
	struct id_map locations;
	struct node_index stacks;
	struct stack_cache cache; /* by the hash of a row */

	/* of the profile at hand */
	const struct profile *profile;
	const struct profile_hashes *hashes;
	struct id_memo location_ids;
	struct id_memo string_ids;
	struct id_memo function_ids; /* as seen in the mapping below: the kind depends on it */
	struct id_memo function_mappings;
	uint32_t *lists; /* rows whose stacks are unknown, then locations without an id */
	size_t list_capacity;
	struct symbol_line *lines; /* of one location */
	size_t line_capacity;
};

/* ---- contents ---- */

static uint32_t add_string(struct interner *interner, uint32_t index)
{
	const struct profile *profile = interner->profile;
	uint32_t *known = id_memo_at(&interner->string_ids, index, profile->string_count);
	bool is_new;

	if (*known)
		return *known - 1;
	*known = 1 + id_map_add(&interner->strings,
	                        hash128_str(interner->key, profile->strings[index]), &is_new);
	if (is_new)
		(void)symbol_table_add_string(interner->table, profile->strings[index]);
	return *known - 1;
}

/* What a function and a mapping are in a window: strings have their ids there. */
static struct hash128 function_key(const struct interner *interner,
                                   const struct symbol_function *function)
{
	const uint64_t parts[] = { function->name, function->system_name, function->file,
		                   function->kind, (uint64_t)function->start_line };

	return hash128(interner->key, parts, sizeof(parts));
}

static struct hash128 mapping_key(const struct interner *interner,
                                  const struct symbol_mapping *mapping)
{
	const uint64_t parts[] = { mapping->start, mapping->limit,    mapping->offset,
		                   mapping->file,  mapping->build_id, mapping->flags };

	return hash128(interner->key, parts, sizeof(parts));
}

static uint32_t add_new_function(struct interner *interner, uint32_t index, struct str file)
{
	const struct profile *profile = interner->profile;
	const struct profile_function *from = &profile->functions[index];
	const struct symbol_function function = {
		.name = add_string(interner, from->name),
		.system_name = add_string(interner, from->system_name),
		.file = add_string(interner, from->file),
		.start_line = from->start_line,
		.kind = function_kind_of(profile->strings[from->name], profile->strings[from->file],
		                         file),
	};
	bool is_new;
	const uint32_t id =
		id_map_add(&interner->functions, function_key(interner, &function), &is_new);

	if (is_new)
		(void)symbol_table_add_function(interner->table, &function);
	return id;
}

static struct str mapping_file(const struct profile *profile, uint32_t mapping)
{
	if (mapping == PROFILE_NONE)
		return (struct str){ 0 };
	return profile->strings[profile->mappings[mapping].file];
}

/* A function as a location in `mapping` (index or PROFILE_NONE) has it. */
static uint32_t add_function(struct interner *interner, uint32_t index, uint32_t mapping)
{
	const struct profile *profile = interner->profile;
	const size_t count = profile->function_count;
	uint32_t *known = id_memo_at(&interner->function_ids, index, count);
	uint32_t *under = id_memo_at(&interner->function_mappings, index, count);

	if (!*known || *under != mapping) {
		*known = 1 + add_new_function(interner, index, mapping_file(profile, mapping));
		*under = mapping;
	}
	return *known - 1;
}

static uint32_t add_mapping(struct interner *interner, uint32_t index)
{
	const struct profile_mapping *from = &interner->profile->mappings[index];
	const struct symbol_mapping mapping = {
		.start = from->start,
		.limit = from->limit,
		.offset = from->offset,
		.file = add_string(interner, from->file),
		.build_id = add_string(interner, from->build_id),
		.flags = from->flags,
	};
	bool is_new;
	const uint32_t id =
		id_map_add(&interner->mappings, mapping_key(interner, &mapping), &is_new);

	if (is_new)
		(void)symbol_table_add_mapping(interner->table, &mapping);
	return id;
}

static uint32_t add_location(struct interner *interner, uint32_t index)
{
	const struct profile *profile = interner->profile;
	const struct profile_location *from = &profile->locations[index];
	uint32_t mapping = PROFILE_NONE;
	bool is_new;
	const uint32_t id =
		id_map_add(&interner->locations, interner->hashes->locations[index], &is_new);

	if (!is_new)
		return id;
	if (from->mapping != PROFILE_NONE)
		mapping = add_mapping(interner, from->mapping);
	if (from->line_count > interner->line_capacity) {
		interner->line_capacity = from->line_count;
		interner->lines = mem_resize(interner->lines, interner->line_capacity,
		                             sizeof(*interner->lines));
	}
	for (uint32_t i = 0; i < from->line_count; i++) {
		const struct profile_line *line = &profile->lines[from->first_line + i];

		interner->lines[i] = (struct symbol_line){
			.line = line->line,
			.function = add_function(interner, line->function, from->mapping),
		};
	}
	(void)symbol_table_add_location(interner->table, mapping, from->address, interner->lines,
	                                from->line_count);
	return id;
}

/* ---- rows ---- */

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
	const size_t count = profile->profile->location_count;
	size_t listed = 0;

	for (size_t i = 0; i < row_count; i++) {
		const struct stored_row *row = &profile->rows[rows[i]];
		const uint32_t *stack = profile->profile->stacks + row->first_frame;

		for (uint32_t k = row->depth; k-- > 0;) {
			uint32_t *known = id_memo_at(&interner->location_ids, stack[k], count);

			if (*known)
				continue;
			*known = UINT32_MAX; /* listed */
			out_locations[listed++] = stack[k];
		}
	}
	return listed;
}

/* Their ids, what each look-up reads fetched ahead. */
static void add_locations(struct interner *interner, const uint32_t *locations, size_t count)
{
	const struct hash128 *hashes = interner->hashes->locations;

	for (size_t i = 0; i < count; i++) {
		if (i + 2 * AHEAD < count)
			id_map_prefetch(&interner->locations, hashes[locations[i + 2 * AHEAD]]);
		if (i + AHEAD < count)
			id_map_prefetch_key(&interner->locations, hashes[locations[i + AHEAD]]);
		interner->location_ids.next_ids[locations[i]] =
			1 + add_location(interner, locations[i]);
	}
}

/* Steps from the root to the row's stack; below a new node there is nothing to find. */
static uint32_t walk(struct interner *interner, const struct stored_row *row)
{
	const uint32_t *stack = interner->profile->stacks + row->first_frame;
	uint32_t at = 0;
	uint32_t left = row->depth;

	while (left > 0) {
		const uint32_t location = interner->location_ids.next_ids[stack[left - 1]] - 1;
		const uint32_t known = node_index_find(&interner->stacks, at, location);

		if (!known)
			break;
		at = known;
		left--;
	}
	while (left-- > 0) {
		at = symbol_table_add_stack(interner->table, at,
		                            interner->location_ids.next_ids[stack[left]] - 1);
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
	id_memo_forget(&interner->location_ids);
	id_memo_forget(&interner->string_ids);
	id_memo_forget(&interner->function_ids);
	id_memo_forget(&interner->function_mappings);
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
	add_locations(interner, locations,
	              list_locations(interner, profile, rows, unknown, locations));
	walk_unknown(interner, profile, rows, unknown, out_stacks);
	return 0;
}

/* ---- indexing what a table has ---- */

/*
 * Gives the entry that comes next in a map. False when an equal one is there: a table has
 * each once.
 */
static bool index_one(struct id_map *map, struct hash128 hash)
{
	bool is_new;

	(void)id_map_add(map, hash, &is_new);
	return is_new;
}

static bool index_contents(struct interner *interner)
{
	const struct symbol_table *table = interner->table;
	bool good = true;

	for (uint32_t id = 0; good && id < table->counts[SYMBOL_STRING]; id++)
		good = index_one(&interner->strings,
		                 hash128_str(interner->key, *symbol_table_string(table, id)));
	for (uint32_t id = 0; good && id < table->counts[SYMBOL_FUNCTION]; id++)
		good = index_one(&interner->functions,
		                 function_key(interner, symbol_table_function(table, id)));
	for (uint32_t id = 0; good && id < table->counts[SYMBOL_MAPPING]; id++)
		good = index_one(&interner->mappings,
		                 mapping_key(interner, symbol_table_mapping(table, id)));
	return good;
}

/* The parts of all strings, functions and mappings, as a sender's side has them. */
struct parts {
	uint64_t *strings;
	uint64_t *functions;
	uint64_t *mappings;
};

static void parts_fini(struct parts *parts)
{
	free(parts->strings);
	free(parts->functions);
	free(parts->mappings);
}

static void parts_init(struct parts *parts, const struct symbol_table *table, uint64_t key)
{
	const uint32_t *counts = table->counts;

	parts->strings = mem_zalloc(counts[SYMBOL_STRING] + 1, sizeof(uint64_t));
	parts->functions = mem_zalloc(counts[SYMBOL_FUNCTION] + 1, sizeof(uint64_t));
	parts->mappings = mem_zalloc(counts[SYMBOL_MAPPING] + 1, sizeof(uint64_t));
	for (uint32_t id = 0; id < counts[SYMBOL_STRING]; id++)
		parts->strings[id] = part_of_string(key, *symbol_table_string(table, id));
	for (uint32_t id = 0; id < counts[SYMBOL_FUNCTION]; id++) {
		const struct symbol_function *function = symbol_table_function(table, id);

		parts->functions[id] = part_of_function(key, parts->strings[function->name],
		                                        parts->strings[function->system_name],
		                                        parts->strings[function->file],
		                                        function->start_line);
	}
	for (uint32_t id = 0; id < counts[SYMBOL_MAPPING]; id++) {
		const struct symbol_mapping *mapping = symbol_table_mapping(table, id);

		parts->mappings[id] = part_of_mapping(key, parts->strings[mapping->file],
		                                      parts->strings[mapping->build_id], mapping);
	}
}

static struct hash128 location_key(const struct symbol_table *table, const struct parts *parts,
                                   uint64_t key, uint32_t id)
{
	const struct symbol_location *location = symbol_table_location(table, id);
	struct location_hasher hasher;

	location_hasher_begin(
		&hasher, key,
		location->mapping == PROFILE_NONE ? 0 : parts->mappings[location->mapping],
		location->address);
	for (uint32_t i = 0; i < location->line_count; i++) {
		const struct symbol_line *line = symbol_table_line(table, location->first_line + i);

		location_hasher_add(&hasher, parts->functions[line->function], line->line);
	}
	return location_hasher_end(&hasher);
}

static bool index_locations(struct interner *interner)
{
	const struct symbol_table *table = interner->table;
	CLEANUP(parts_fini) struct parts parts = { 0 };
	bool good = true;

	parts_init(&parts, table, interner->key);
	for (uint32_t id = 0; good && id < table->counts[SYMBOL_LOCATION]; id++)
		good = index_one(&interner->locations,
		                 location_key(table, &parts, interner->key, id));
	return good;
}

int interner_new(struct symbol_table *table, uint64_t key, struct interner **out, struct error *err)
{
	CLEANUP(interner_freep) struct interner *interner = mem_zalloc(1, sizeof(*interner));

	interner->table = table;
	interner->key = key;
	if (!index_contents(interner) || !index_locations(interner))
		return error_set(err, ERROR_CORRUPT, "a symbol stands there twice");
	node_index_init(&interner->stacks, &table->columns[SYMBOL_STACK], key,
	                table->counts[SYMBOL_STACK]);
	*out = TAKE(interner);
	return 0;
}

void interner_free(struct interner *interner)
{
	if (!interner)
		return;
	id_map_fini(&interner->strings);
	id_map_fini(&interner->functions);
	id_map_fini(&interner->mappings);
	id_map_fini(&interner->locations);
	node_index_fini(&interner->stacks);
	stack_cache_fini(&interner->cache);
	id_memo_fini(&interner->location_ids);
	id_memo_fini(&interner->string_ids);
	id_memo_fini(&interner->function_ids);
	id_memo_fini(&interner->function_mappings);
	free(interner->lists);
	free(interner->lines);
	free(interner);
}

size_t interner_bytes(const struct interner *interner)
{
	return sizeof(*interner) + id_map_bytes(&interner->strings) +
	       id_map_bytes(&interner->functions) + id_map_bytes(&interner->mappings) +
	       id_map_bytes(&interner->locations) + stack_cache_bytes(&interner->cache) +
	       node_index_bytes(&interner->stacks) +
	       (interner->location_ids.capacity + interner->string_ids.capacity +
	        interner->function_ids.capacity * 2 + interner->list_capacity) *
	               sizeof(uint32_t);
}
