/*
 * What identifies a profile's symbols in any window: keyed hashes of their contents.
 *
 * Shape    made on the caller's thread, so that the writer does one look-up a row for a
 *          stack it knows. A location's hash covers its mapping, address and lines, these
 *          their functions, these their strings: equal hashes count as equal things. A
 *          stack's covers its locations', leaf first. Only what rows refer to is hashed,
 *          each string once.
 * Errors   none: sizes are those of the profile, which is in memory.
 * Threads  none; finished ones are read-only.
 */
#pragma once

#include "base/hash.h"
#include "profile/series_profile.h"
#include "storage/symbol_table.h"

struct profile_hashes {
	const uint64_t *strings; /* parts, by index; 0: no row refers to it */
	const uint64_t *functions;
	const uint64_t *mappings;
	const struct hash128 *locations; /* by index; zero: no row refers to it */
	const struct hash128 *rows;      /* of stacks; zero: an empty one */
	const struct hash128 *series;    /* fingerprints */
};

/* All profiles of one write. */
struct write_hashes;

struct write_hashes *write_hashes_new(const struct series_profile *profiles, size_t count,
                                      uint64_t key) __attribute__((returns_nonnull));
void write_hashes_free(struct write_hashes *hashes);
DEFINE_FREEP(write_hashes)

size_t write_hashes_bytes(const struct write_hashes *hashes);
struct profile_hashes write_hashes_of(const struct write_hashes *hashes, size_t profile);

/*
 * The same hashes from their parts, for what a window already has. Parts take 64 bits:
 * what they make up takes 128, and among the strings of a day equal ones by accident are
 * rarer than a broken disk. Never 0.
 */
uint64_t part_of_string(uint64_t key, struct str string);
uint64_t part_of_function(uint64_t key, uint64_t name, uint64_t system_name, uint64_t file,
                          int64_t start_line);
uint64_t part_of_mapping(uint64_t key, uint64_t file, uint64_t build_id,
                         const struct symbol_mapping *mapping);

/* A location, line by line: gathered, and hashed at once as long as it has few lines. */
#define LOCATION_HASHER_PARTS 32

struct location_hasher {
	uint64_t key;
	size_t count;
	uint64_t parts[LOCATION_HASHER_PARTS];
};

/* `mapping` is 0 for none. */
static inline void location_hasher_begin(struct location_hasher *hasher, uint64_t key,
                                         uint64_t mapping, uint64_t address)
{
	hasher->key = key;
	hasher->parts[0] = mapping;
	hasher->parts[1] = address;
	hasher->count = 2;
}

struct hash128 location_hasher_end(const struct location_hasher *hasher);

static inline void location_hasher_add(struct location_hasher *hasher, uint64_t function,
                                       int64_t line)
{
	if (hasher->count + 2 > LOCATION_HASHER_PARTS) {
		const struct hash128 hash = location_hasher_end(hasher);

		hasher->parts[0] = hash.low;
		hasher->parts[1] = hash.high;
		hasher->count = 2;
	}
	hasher->parts[hasher->count++] = function;
	hasher->parts[hasher->count++] = (uint64_t)line;
}
