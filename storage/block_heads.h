/*
 * What a block knows of each profile besides its samples.
 *
 * Shape    columns in the order (group, time, seq): groups and times are decoded at once,
 *          the others when they are asked for. The ids stand last. Origins, which only
 *          matter while a sender may send again, are a body of their own.
 * Units    Unix nanoseconds; `received` is Unix seconds.
 * Errors   ERROR_CORRUPT for bytes that block_heads_encode() did not write; arena_error()
 *          when the arena is full. What is allocated is bounded by BLOCK_PROFILES_MAX.
 * Threads  none; what was decoded may be read by many.
 * Source   docs/formats/store.md, "Block bodies"
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "storage/block.h"
#include "storage/block_values.h"

/* What is encoded: a column each, in order. */
struct block_heads_columns {
	uint32_t group_count;
	const uint32_t *groups; /* ascending */
	const uint32_t *firsts; /* group_count + 1 */
	uint32_t series_count;
	const int64_t *times;
	const int64_t *seqs;
	const int64_t *durations;
	const int64_t *received;
	const int64_t *const *totals; /* a column each series */
	const struct uuid *ids;
};

/* Appends the payload. */
void block_heads_encode(const struct block_heads_columns *columns, struct strbuf *out);

struct block_heads {
	uint32_t group_count;
	const uint32_t *groups; /* ascending */
	const uint32_t
		*firsts; /* group_count + 1: group i has profiles [firsts[i], firsts[i + 1]) */
	uint32_t profile_count;
	uint32_t series_count;
	const int64_t *times; /* ascending within a group */
	/* not decoded */
	struct block_values seqs;
	struct block_values durations;
	struct block_values received;
	struct block_values totals;
	struct str ids;
};

int block_heads_decode(struct str payload, struct arena *arena, struct block_heads *out,
                       struct error *err);

/* One a profile. */
int block_heads_totals(const struct block_heads *heads, uint32_t series, struct arena *arena,
                       int64_t **out, struct error *err);
int block_heads_seqs(const struct block_heads *heads, struct arena *arena, int64_t **out,
                     struct error *err);
int block_heads_durations(const struct block_heads *heads, struct arena *arena, int64_t **out,
                          struct error *err);
int block_heads_received(const struct block_heads *heads, struct arena *arena, int64_t **out,
                         struct error *err);

/* A view; it lives as long as the payload. */
static inline struct uuid block_heads_id(const struct block_heads *heads, uint32_t profile)
{
	struct uuid id;

	memcpy(id.bytes, heads->ids.data + (size_t)profile * sizeof(id.bytes), sizeof(id.bytes));
	return id;
}

/* Where `group` stands in heads->groups, or UINT32_MAX. */
uint32_t block_heads_find(const struct block_heads *heads, uint32_t group);

/*
 * The profiles of the group at `group_index` whose time is within both ends; empty when
 * there are none.
 */
struct block_span block_heads_within(const struct block_heads *heads, uint32_t group_index,
                                     int64_t start_unix_ns, int64_t end_unix_ns);

/* The payload of origins: 16 bytes a profile, zero: none. */
void block_origins_encode(const struct hash128 *origins, uint32_t count, struct strbuf *out);
int block_origins_decode(struct str payload, uint32_t profile_count, struct arena *arena,
                         const struct hash128 **out, struct error *err);
