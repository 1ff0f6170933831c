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

/* The same hashes from their parts, for what a window already has. */
struct hash128 hash_string(uint64_t key, struct str string);
struct hash128 hash_function(uint64_t key, struct hash128 name, struct hash128 system_name,
                             struct hash128 file, int64_t start_line);
struct hash128 hash_mapping(uint64_t key, struct hash128 file, struct hash128 build_id,
                            const struct symbol_mapping *mapping);

/* A location, line by line: gathered, and hashed at once as long as it has few lines. */
#define LOCATION_HASHER_PARTS 36

struct location_hasher {
	uint64_t key;
	size_t count;
	uint64_t parts[LOCATION_HASHER_PARTS];
};
void location_hasher_begin(struct location_hasher *hasher, uint64_t key, struct hash128 mapping,
                           uint64_t address);
void location_hasher_add(struct location_hasher *hasher, struct hash128 function, int64_t line);
struct hash128 location_hasher_end(const struct location_hasher *hasher);
