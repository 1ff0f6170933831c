/*
 * Makes the bodies of one block from the profiles that it will stand for.
 *
 * Shape    rows are gathered by profile, then moved to their stacks; some 36 bytes a row
 *          of two series while it works, and 4 for each stack of the window.
 * Errors   ERROR_TOO_LARGE for what no block holds, ERROR_UNAVAILABLE when the budget
 *          has no room, ERROR_CORRUPT for samples that do not read back.
 * Threads  none.
 * Source   docs/formats/store.md, "Block bodies"
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "storage/block.h"
#include "storage/sample_page.h"

struct block_profile {
	uint32_t group;
	int64_t time_unix_ns;
	int64_t seq; /* among profiles of equal group and time */
	struct uuid id;
	struct hash128 origin; /* zero: none */
	int64_t duration_ns;
	int64_t received_s;
	const int64_t *totals; /* one a series */
};

/* Sealed envelopes (storage/page.h), ready to be stored. */
struct block_bodies {
	struct strbuf heads;
	struct strbuf origins; /* empty when no profile has one */
	struct strbuf sums;
	struct strbuf detail;
};

/* A zeroed one may be given. */
void block_bodies_fini(struct block_bodies *bodies);

struct block_builder;

/* Every group of the family has `series_count` series. `budget` may be NULL. */
int block_builder_new(size_t series_count, struct budget *budget, struct block_builder **out,
                      struct error *err);
void block_builder_free(struct block_builder *builder);
DEFINE_FREEP(block_builder)

/*
 * Whether the block has room for one more profile of so many rows. An empty one has room
 * for any, so that every profile fits some block.
 */
bool block_builder_fits(const struct block_builder *builder, size_t rows);

/*
 * Profiles come in ascending (group, time, seq), each once. Everything is copied; the
 * values of the samples are decoded into `scratch`.
 */
int block_builder_add(struct block_builder *builder, const struct block_profile *profile,
                      const struct sample_page *samples, struct arena *scratch, struct error *err);

size_t block_builder_profiles(const struct block_builder *builder);
size_t block_builder_rows(const struct block_builder *builder);

/* The bodies are the caller's then: block_bodies_fini(). Nothing can be added any more. */
int block_builder_finish(struct block_builder *builder, struct block_bodies *out,
                         struct error *err);
