#include "storage/content_index.h"

#include <stdlib.h>

#include "base/mem.h"

#define AHEAD 6 /* locations whose slots are fetched before they are looked up; a guess */

static struct hash128 key_of_part(uint64_t part)
{
	return (struct hash128){ .low = part };
}

static struct hash128 key_of_function(uint64_t part, uint32_t kind)
{
	return (struct hash128){ .low = part + kind, .high = kind };
}

/* ---- adding ---- */

static uint32_t add_string(struct content_index *index, uint32_t string)
{
	const struct profile *profile = index->profile;
	uint32_t *known = id_memo_at(&index->string_ids, string, profile->string_count);
	bool is_new;

	if (*known)
		return *known - 1;
	*known = 1 +
	         id_map_add(&index->strings, key_of_part(index->hashes->strings[string]), &is_new);
	if (is_new)
		(void)symbol_table_add_string(index->table, profile->strings[string]);
	return *known - 1;
}

static uint32_t add_new_function(struct content_index *index, uint32_t number, struct str file)
{
	const struct profile *profile = index->profile;
	const struct profile_function *from = &profile->functions[number];
	const enum function_kind kind =
		function_kind_of(profile->strings[from->name], profile->strings[from->file], file);
	bool is_new;
	const uint32_t id = id_map_add(&index->functions,
	                               key_of_function(index->hashes->functions[number], kind),
	                               &is_new);

	if (is_new)
		(void)symbol_table_add_function(
			index->table, &(struct symbol_function){
					      .name = add_string(index, from->name),
					      .system_name = add_string(index, from->system_name),
					      .file = add_string(index, from->file),
					      .start_line = from->start_line,
					      .kind = kind,
				      });
	return id;
}

static struct str mapping_file(const struct profile *profile, uint32_t mapping)
{
	if (mapping == PROFILE_NONE)
		return (struct str){ 0 };
	return profile->strings[profile->mappings[mapping].file];
}

/* A function as a location in `mapping` (index or PROFILE_NONE) has it. */
static uint32_t add_function(struct content_index *index, uint32_t function, uint32_t mapping)
{
	const struct profile *profile = index->profile;
	const size_t count = profile->function_count;
	uint32_t *known = id_memo_at(&index->function_ids, function, count);
	uint32_t *under = id_memo_at(&index->function_mappings, function, count);

	if (!*known || *under != mapping) {
		*known = 1 + add_new_function(index, function, mapping_file(profile, mapping));
		*under = mapping;
	}
	return *known - 1;
}

static uint32_t add_mapping(struct content_index *index, uint32_t number)
{
	const struct profile_mapping *from = &index->profile->mappings[number];
	uint32_t *known = id_memo_at(&index->mapping_ids, number, index->profile->mapping_count);
	bool is_new;

	if (*known)
		return *known - 1;
	*known = 1 + id_map_add(&index->mappings, key_of_part(index->hashes->mappings[number]),
	                        &is_new);
	if (is_new)
		(void)symbol_table_add_mapping(
			index->table, &(struct symbol_mapping){
					      .start = from->start,
					      .limit = from->limit,
					      .offset = from->offset,
					      .file = add_string(index, from->file),
					      .build_id = add_string(index, from->build_id),
					      .flags = from->flags,
				      });
	return *known - 1;
}

static uint32_t add_location(struct content_index *index, uint32_t number)
{
	const struct profile *profile = index->profile;
	const struct profile_location *from = &profile->locations[number];
	uint32_t mapping = PROFILE_NONE;
	bool is_new;
	const uint32_t id =
		id_map_add(&index->locations, index->hashes->locations[number], &is_new);

	if (!is_new)
		return id;
	if (from->mapping != PROFILE_NONE)
		mapping = add_mapping(index, from->mapping);
	if (from->line_count > index->line_capacity) {
		index->line_capacity = from->line_count;
		index->lines =
			mem_resize(index->lines, index->line_capacity, sizeof(*index->lines));
	}
	for (uint32_t i = 0; i < from->line_count; i++) {
		const struct profile_line *line = &profile->lines[from->first_line + i];

		index->lines[i] = (struct symbol_line){
			.line = line->line,
			.function = add_function(index, line->function, from->mapping),
		};
	}
	(void)symbol_table_add_location(index->table, mapping, from->address, index->lines,
	                                from->line_count);
	return id;
}

/* Asks the memory for what a new location's functions and their names are looked up in. */
static void prefetch_functions(const struct content_index *index, uint32_t number)
{
	const struct profile *profile = index->profile;
	const struct profile_location *location = &profile->locations[number];

	for (uint32_t i = 0; i < location->line_count; i++) {
		const uint32_t function = profile->lines[location->first_line + i].function;

		/* kinds lie side by side */
		id_map_prefetch(&index->functions,
		                key_of_function(index->hashes->functions[function], 0));
		id_map_prefetch(
			&index->strings,
			key_of_part(index->hashes->strings[profile->functions[function].name]));
	}
}

/* Leaves in the list what is unknown; returns how many these are. */
static size_t find_known(struct content_index *index, uint32_t *locations, size_t count)
{
	const struct hash128 *hashes = index->hashes->locations;
	size_t unknown = 0;

	for (size_t i = 0; i < count; i++) {
		const uint32_t number = locations[i];
		uint32_t id;

		if (i + 2 * AHEAD < count)
			id_map_prefetch(&index->locations, hashes[locations[i + 2 * AHEAD]]);
		if (i + AHEAD < count)
			id_map_prefetch_key(&index->locations, hashes[locations[i + AHEAD]]);
		id = id_map_find(&index->locations, hashes[number]);
		index->location_ids.next_ids[number] = id + 1;
		if (id == ID_MAP_NONE)
			locations[unknown++] = number;
	}
	return unknown;
}

void content_index_begin(struct content_index *index, const struct profile *profile,
                         const struct profile_hashes *hashes)
{
	index->profile = profile;
	index->hashes = hashes;
	id_memo_forget(&index->location_ids);
	id_memo_forget(&index->string_ids);
	id_memo_forget(&index->mapping_ids);
	id_memo_forget(&index->function_ids);
	id_memo_forget(&index->function_mappings);
}

void content_index_add(struct content_index *index, uint32_t *locations, size_t count)
{
	const size_t unknown = find_known(index, locations, count);

	for (size_t i = 0; i < unknown; i++) {
		if (i + AHEAD < unknown)
			prefetch_functions(index, locations[i + AHEAD]);
		index->location_ids.next_ids[locations[i]] = 1 + add_location(index, locations[i]);
	}
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

int content_index_init(struct content_index *index, struct symbol_table *table, uint64_t key,
                       struct error *err)
{
	CLEANUP(parts_fini) struct parts parts = { 0 };
	bool good = true;

	index->table = table;
	parts_init(&parts, table, key);
	for (uint32_t id = 0; good && id < table->counts[SYMBOL_STRING]; id++)
		good = index_one(&index->strings, key_of_part(parts.strings[id]));
	for (uint32_t id = 0; good && id < table->counts[SYMBOL_FUNCTION]; id++)
		good = index_one(&index->functions,
		                 key_of_function(parts.functions[id],
		                                 symbol_table_function(table, id)->kind));
	for (uint32_t id = 0; good && id < table->counts[SYMBOL_MAPPING]; id++)
		good = index_one(&index->mappings, key_of_part(parts.mappings[id]));
	for (uint32_t id = 0; good && id < table->counts[SYMBOL_LOCATION]; id++)
		good = index_one(&index->locations, location_key(table, &parts, key, id));
	return good ? 0 : error_set(err, ERROR_CORRUPT, "a symbol stands there twice");
}

void content_index_fini(struct content_index *index)
{
	id_map_fini(&index->strings);
	id_map_fini(&index->functions);
	id_map_fini(&index->mappings);
	id_map_fini(&index->locations);
	id_memo_fini(&index->location_ids);
	id_memo_fini(&index->string_ids);
	id_memo_fini(&index->mapping_ids);
	id_memo_fini(&index->function_ids);
	id_memo_fini(&index->function_mappings);
	free(index->lines);
	*index = (struct content_index){ 0 };
}

size_t content_index_bytes(const struct content_index *index)
{
	return id_map_bytes(&index->strings) + id_map_bytes(&index->functions) +
	       id_map_bytes(&index->mappings) + id_map_bytes(&index->locations) +
	       (index->location_ids.capacity + index->string_ids.capacity +
	        index->mapping_ids.capacity + index->function_ids.capacity * 2) *
	               sizeof(uint32_t);
}
