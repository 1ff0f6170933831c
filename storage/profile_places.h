/*
 * Where a profile goes among those of equal group and time: its number, or that it is
 * there already.
 *
 * Shape    looks at fresh rows, and at the blocks of the family's hour when it has any: a
 *          profile that comes that late is rare. The blocks that were looked into last
 *          are kept, since late profiles come in runs.
 * Errors   as storage/database.h and storage/block_table.h
 * Threads  the writer thread only.
 */
#pragma once

#include "storage/block_table.h"

struct profile_places;

int profile_places_open(struct database *database, struct profile_places **out, struct error *err);
void profile_places_close(struct profile_places *places);

/*
 * To be called when blocks have come or gone; `blocks` is the window's, NULL when it has
 * none.
 */
int profile_places_blocks_changed(struct profile_places *places, struct block_table *blocks,
                                  struct error *err);

struct profile_place {
	uint32_t family;
	uint32_t group;
	int64_t time_unix_ns;
	struct hash128 origin; /* zero: it is no other's repetition */
	int64_t now_s;
};

/*
 * *out_retry: one of the same origin that was received less than a day ago is there. Else
 * *out_seq is larger than any that is there.
 */
int profile_places_find(struct profile_places *places, const struct profile_place *place,
                        int64_t *out_seq, bool *out_retry, struct error *err);
