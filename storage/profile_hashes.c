#include "storage/profile_hashes.h"

#include <stdlib.h>

#include "base/mem.h"

/* A hash that is no zero, which stands for "none". */
static struct hash128 settled(struct hash128 hash)
{
	if (hash128_is_zero(hash))
		hash.low = 1;
	return hash;
}

static uint64_t settled_part(uint64_t hash)
{
	return hash ? hash : 1;
}

uint64_t part_of_string(uint64_t key, struct str string)
{
	return settled_part(hash64(key, string.data, string.length));
}

uint64_t part_of_function(uint64_t key, uint64_t name, uint64_t system_name, uint64_t file,
                          int64_t start_line)
{
	const uint64_t parts[] = { name, system_name, file, (uint64_t)start_line };

	return settled_part(hash64(key, parts, sizeof(parts)));
}

uint64_t part_of_mapping(uint64_t key, uint64_t file, uint64_t build_id,
                         const struct symbol_mapping *mapping)
{
	const uint64_t parts[] = { file,           build_id,        mapping->start,
		                   mapping->limit, mapping->offset, mapping->flags };

	return settled_part(hash64(key, parts, sizeof(parts)));
}

struct hash128 location_hasher_end(const struct location_hasher *hasher)
{
	return settled(
		hash128(hasher->key, hasher->parts, hasher->count * sizeof(hasher->parts[0])));
}

/* ---- one write ---- */

struct entry {
	const struct profile *profile;
	uint64_t *parts;           /* shared by neighbours of one profile; the first owns them */
	struct hash128 *locations; /* likewise */
	struct hash128 *rows;
	struct hash128 *series;
	bool owns_contents;
};

struct write_hashes {
	size_t count;
	size_t bytes;
	struct entry entries[];
};

/* What is known of the profile at hand; neighbours that share it go on from there. */
struct hashing {
	uint64_t key;
	const struct profile *profile;
	uint64_t *strings; /* the next two lie behind them */
	uint64_t *functions;
	uint64_t *mappings;
	struct hash128 *locations;
	uint64_t *frames; /* of the row at hand */
};

static uint64_t string_of(struct hashing *hashing, uint32_t string)
{
	uint64_t *part = &hashing->strings[string];

	if (!*part)
		*part = part_of_string(hashing->key, hashing->profile->strings[string]);
	return *part;
}

static uint64_t function_of(struct hashing *hashing, uint32_t index)
{
	const struct profile_function *function = &hashing->profile->functions[index];
	uint64_t *part = &hashing->functions[index];

	if (!*part)
		*part = part_of_function(hashing->key, string_of(hashing, function->name),
		                         string_of(hashing, function->system_name),
		                         string_of(hashing, function->file), function->start_line);
	return *part;
}

static uint64_t mapping_of(struct hashing *hashing, uint32_t index)
{
	const struct profile_mapping *from;
	uint64_t *part;

	if (index == PROFILE_NONE)
		return 0;
	from = &hashing->profile->mappings[index];
	part = &hashing->mappings[index];
	if (!*part) {
		const struct symbol_mapping mapping = {
			.start = from->start,
			.limit = from->limit,
			.offset = from->offset,
			.flags = from->flags,
		};

		*part = part_of_mapping(hashing->key, string_of(hashing, from->file),
		                        string_of(hashing, from->build_id), &mapping);
	}
	return *part;
}

static void hash_location(struct hashing *hashing, uint32_t index)
{
	const struct profile_location *location = &hashing->profile->locations[index];
	struct location_hasher hasher;

	location_hasher_begin(&hasher, hashing->key, mapping_of(hashing, location->mapping),
	                      location->address);
	for (uint32_t i = 0; i < location->line_count; i++) {
		const struct profile_line *line =
			&hashing->profile->lines[location->first_line + i];

		location_hasher_add(&hasher, function_of(hashing, line->function), line->line);
	}
	hashing->locations[index] = location_hasher_end(&hasher);
}

/*
 * A row's hash takes 64 bits of each location: two stacks of a window are equal when all
 * of these and the 128 bits over them are, by accident once in some ten million windows
 * of a million locations.
 */
static struct hash128 hash_row(struct hashing *hashing, const struct stored_row *row)
{
	const uint32_t *stack;

	if (row->depth == 0)
		return (struct hash128){ 0 };
	stack = hashing->profile->stacks + row->first_frame;
	for (uint32_t i = 0; i < row->depth; i++) {
		if (hash128_is_zero(hashing->locations[stack[i]]))
			hash_location(hashing, stack[i]);
		hashing->frames[i] = hashing->locations[stack[i]].low;
	}
	return settled(hash128(hashing->key, hashing->frames, row->depth * sizeof(uint64_t)));
}

static uint32_t deepest(const struct series_profile *profile)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < profile->row_count; i++)
		if (profile->rows[i].depth > depth)
			depth = profile->rows[i].depth;
	return depth;
}

/* Begins a profile that is not the one before; its contents' hashes belong to `entry`. */
static void begin(struct hashing *hashing, struct entry *entry, struct write_hashes *hashes)
{
	const struct profile *profile = entry->profile;
	const size_t contents =
		profile->string_count + profile->function_count + profile->mapping_count;

	hashing->profile = profile;
	hashing->strings = mem_zalloc(contents + 1, sizeof(*hashing->strings));
	hashing->functions = hashing->strings + profile->string_count;
	hashing->mappings = hashing->functions + profile->function_count;
	hashing->locations = mem_zalloc(profile->location_count + 1, sizeof(*hashing->locations));
	entry->owns_contents = true;
	hashes->bytes += contents * sizeof(*hashing->strings) +
	                 profile->location_count * sizeof(*hashing->locations);
}

static void hash_profile(struct hashing *hashing, const struct series_profile *profile,
                         struct write_hashes *hashes, struct entry *entry)
{
	const size_t count = profile->row_count + profile->series_count;

	entry->profile = profile->profile;
	if (!hashing->strings || hashing->profile != entry->profile)
		begin(hashing, entry, hashes);
	entry->parts = hashing->strings;
	entry->locations = hashing->locations;
	entry->rows = mem_zalloc(count + 1, sizeof(*entry->rows));
	entry->series = entry->rows + profile->row_count;
	hashes->bytes += count * sizeof(*entry->rows);
	free(hashing->frames);
	hashing->frames = mem_zalloc(deepest(profile) + 1, sizeof(*hashing->frames));
	for (size_t i = 0; i < profile->row_count; i++)
		entry->rows[i] = hash_row(hashing, &profile->rows[i]);
	for (size_t i = 0; i < profile->series_count; i++)
		entry->series[i] = label_set_fingerprint(&profile->series[i].labels, hashing->key);
}

struct write_hashes *write_hashes_new(const struct series_profile *profiles, size_t count,
                                      uint64_t key)
{
	struct write_hashes *hashes =
		mem_zalloc(1, sizeof(*hashes) + count * sizeof(hashes->entries[0]));
	struct hashing hashing = { .key = key };

	hashes->count = count;
	hashes->bytes = sizeof(*hashes) + count * sizeof(hashes->entries[0]);
	for (size_t i = 0; i < count; i++)
		hash_profile(&hashing, &profiles[i], hashes, &hashes->entries[i]);
	free(hashing.frames);
	return hashes;
}

void write_hashes_free(struct write_hashes *hashes)
{
	if (!hashes)
		return;
	for (size_t i = 0; i < hashes->count; i++) {
		free(hashes->entries[i].rows);
		if (!hashes->entries[i].owns_contents)
			continue;
		free(hashes->entries[i].parts);
		free(hashes->entries[i].locations);
	}
	free(hashes);
}

size_t write_hashes_bytes(const struct write_hashes *hashes)
{
	return hashes->bytes;
}

struct profile_hashes write_hashes_of(const struct write_hashes *hashes, size_t profile)
{
	const struct entry *entry = &hashes->entries[profile];

	return (struct profile_hashes){
		.strings = entry->parts,
		.functions = entry->parts + entry->profile->string_count,
		.mappings = entry->parts + entry->profile->string_count +
		            entry->profile->function_count,
		.locations = entry->locations,
		.rows = entry->rows,
		.series = entry->series,
	};
}
