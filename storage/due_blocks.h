/*
 * Which fresh rows of a window should become blocks.
 *
 * Shape    rows are gathered by family and hour. An hour is due when it ended more than a
 *          grace ago and nothing was received for it within the grace, or when it has
 *          more profiles than a block holds. It follows from the rows alone: there is
 *          nothing to remember, or to lose.
 * Threads  none.
 */
#pragma once

#include "storage/reader.h"
#include "storage/series_index.h"

struct due_rule {
	int64_t now_unix_ns;
	int64_t grace_ns;
};

/* Rows of one family in one hour. */
struct due_block {
	uint32_t family;
	int64_t hour;
	const struct reader_hour *groups; /* ascending */
	size_t group_count;
	uint64_t profile_count;
	int64_t received_s; /* of the profile that came last */
};

struct due_blocks {
	struct due_block *blocks; /* by hour, then by family */
	size_t count;
	uint64_t profile_count;
};

/* Whether an hour with so many profiles is due. */
bool due_block_is_due(const struct due_block *block, uint64_t profile_count,
                      const struct due_rule *rule);

/* Whether any hour may be due, for all that is known without families. */
bool due_blocks_any(const struct reader_hours *hours, const struct due_rule *rule);

/* Those that are due, in the arena; sorts the hours. */
int due_blocks_find(struct reader_hours *hours, const struct series_view *series,
                    const struct due_rule *rule, struct arena *arena, struct due_blocks *out,
                    struct error *err);
