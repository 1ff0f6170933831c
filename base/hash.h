/*
 * Hashes of bytes: keyed ones for what strangers send, so that nobody can prepare
 * collisions.
 *
 * Shape    64 and 128 bits of XXH3 with a seed. The only file that includes xxHash.
 * Threads  any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/str.h"

struct hash128 {
	uint64_t low;
	uint64_t high;
};

static inline uint64_t hash64(uint64_t key, const void *data, size_t length)
{
	return XXH3_64bits_withSeed(length ? data : "", length, key);
}

static inline struct hash128 hash128(uint64_t key, const void *data, size_t length)
{
	const XXH128_hash_t hash = XXH3_128bits_withSeed(length ? data : "", length, key);

	return (struct hash128){ hash.low64, hash.high64 };
}

static inline struct hash128 hash128_str(uint64_t key, struct str text)
{
	return hash128(key, text.data, text.length);
}

/* The same hash, with key 0, of bytes that come piece by piece. */
struct hash_stream {
	XXH3_state_t state;
};

static inline void hash_stream_begin(struct hash_stream *stream)
{
	XXH3_INITSTATE(&stream->state);
	(void)XXH3_128bits_reset(&stream->state);
}

static inline void hash_stream_add(struct hash_stream *stream, struct str bytes)
{
	(void)XXH3_128bits_update(&stream->state, bytes.length ? bytes.data : "", bytes.length);
}

static inline struct hash128 hash_stream_end(const struct hash_stream *stream)
{
	const XXH128_hash_t hash = XXH3_128bits_digest(&stream->state);

	return (struct hash128){ hash.low64, hash.high64 };
}

static inline bool hash128_equal(struct hash128 a, struct hash128 b)
{
	return a.low == b.low && a.high == b.high;
}

static inline bool hash128_is_zero(struct hash128 a)
{
	return a.low == 0 && a.high == 0;
}
